//! Addresses of remotes without what gives access: user, password, query and fragment are left out. Where an
//! address cannot be read for sure, more is left out rather than less.

/// The address as it may be shown.
pub(super) fn url(url: &str) -> String {
    if let Some((helper, address)) = url.split_once("::")
        && !helper.contains(['/', '@', ':'])
    {
        // What a helper is told may be a command line.
        return match address.contains("://") && !address.contains(char::is_whitespace) {
            true => format!("{helper}::{}", self::url(address)),
            false => format!("{helper}::..."),
        };
    }
    let Some((scheme, rest)) = url.split_once("://") else {
        return without_scheme(url);
    };
    let rest = &rest[..rest.find(['?', '#']).unwrap_or(rest.len())];
    let authority = &rest[..rest.find('/').unwrap_or(rest.len())];
    let begin = match authority.rfind('@') {
        Some(at) => at + 1,
        // A password with a slash in it.
        None if !ends_with_port(authority) => rest.rfind('@').map_or(0, |at| at + 1),
        None => 0,
    };
    let user = match scheme.ends_with("ssh") && rest.starts_with("git@") {
        true => "git@",
        false => "",
    };
    format!("{scheme}://{user}{}", &rest[begin..])
}

/// `host`, `host:port` or `[address]:port`.
fn ends_with_port(authority: &str) -> bool {
    match authority.rsplit_once(':') {
        Some((_, port)) => port.ends_with(']') || port.bytes().all(|byte| byte.is_ascii_digit()),
        None => true,
    }
}

/// A path, or `user@host:path`.
fn without_scheme(url: &str) -> String {
    let end = url.find('/').unwrap_or(url.len());
    match url[..end].rfind('@') {
        Some(at) if url[at..].contains(':') && !url.starts_with("git@") => url[at + 1..].to_owned(),
        Some(at) if url.starts_with("git@") && at != 3 => url[at + 1..].to_owned(),
        _ => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::url;

    #[test]
    fn no_credential_is_left_in_an_address() {
        for (given, shown) in [
            ("https://host/a.git", "https://host/a.git"),
            ("https://user:CANARY@host/a.git", "https://host/a.git"),
            ("https://CANARY@host:8443/a", "https://host:8443/a"),
            ("https://user:CAN@ARY@host/a", "https://host/a"),
            ("https://user:CANARY/x@host/a", "https://host/a"),
            ("https://host/a?token=CANARY#CANARY", "https://host/a"),
            ("https://host/@scope/a", "https://host/@scope/a"),
            ("ssh://git@host:22/a", "ssh://git@host:22/a"),
            ("ssh://me:CANARY@host/a", "ssh://host/a"),
            ("git@host:a/b.git", "git@host:a/b.git"),
            ("CANARY@host:a/b.git", "host:a/b.git"),
            ("/srv/a.git", "/srv/a.git"),
            ("../a@b.git", "../a@b.git"),
            ("ext::sh -c CANARY", "ext::..."),
            ("x::https://me:CANARY@host/a", "x::https://host/a"),
            ("http://[::1]:80/a", "http://[::1]:80/a"),
            ("user:CANARY@host:a", "host:a"),
        ] {
            assert_eq!(url(given), shown, "{given}");
        }
    }
}
