//! Requests to one address of a provider, and their answers in pieces.
//!
//! Connections are used again. A proxy is used only when the configuration says so, no redirect is followed, every
//! wait has an end, every body a bound. Dropping a request or an answer closes its connection. An error that leaves
//! here holds no key, no header and of the address the origin alone. Needs a runtime with time and input/output on.

use super::config::{self, ModelConfigError, ProxyChoice, Timeouts};
use super::secret::Masking;
use super::{LlmError, LlmFault, Secret, fault};
use reqwest::Url;
use reqwest::header::{CONTENT_ENCODING, HeaderMap};
use rustls_platform_verifier::Verifier;
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Most bytes of a request.
const MOST_REQUEST_BYTES: usize = 128 * 1024 * 1024;
/// Most bytes of an answer.
const MOST_ANSWER_BYTES: usize = 128 * 1024 * 1024;
/// Most bytes of a refusal that are read.
const MOST_REFUSAL_BYTES: usize = 64 * 1024;
/// Longest wait for the body of a refusal.
const REFUSAL_WAIT: Duration = Duration::from_secs(5);
/// How long the rest of an answer that is complete may take, so that its connection can be used again.
const REST_WAIT: Duration = Duration::from_millis(25);
/// An idle connection is kept so long.
const KEEP_IDLE: Duration = Duration::from_secs(60);
/// Most idle connections.
const MOST_IDLE: usize = 8;

/// What a client of one address needs.
pub(super) struct HttpSettings<'a> {
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) timeouts: Timeouts,
    pub(super) proxy: &'a ProxyChoice,
    pub(super) key: Option<&'a Secret>,
    pub(super) configured: &'a [(String, Secret)],
}

/// A client of one address.
pub(super) struct HttpClient {
    client: reqwest::Client,
    url: Url,
    headers: HeaderMap,
    timeouts: Timeouts,
    masking: Masking,
}

impl std::fmt::Debug for HttpClient {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("HttpClient")
            .field("origin", &config::origin(&self.url))
            .field("timeouts", &self.timeouts)
            .finish_non_exhaustive()
    }
}

impl HttpClient {
    /// May read the system's certificates.
    pub(super) fn new(settings: HttpSettings<'_>) -> Result<Self, ModelConfigError> {
        settings.timeouts.check()?;
        let proxy = settings.proxy.url()?;
        let masking = masking(&settings, proxy.as_ref());
        let secure = settings.url.scheme() == "https"
            || !matches!(settings.proxy, ProxyChoice::Direct) && !is_plain(proxy.as_ref());
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls(secure)?)
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .retry(reqwest::retry::never())
            .connect_timeout(settings.timeouts.connect)
            .pool_idle_timeout(KEEP_IDLE)
            .pool_max_idle_per_host(MOST_IDLE)
            .tcp_keepalive(Duration::from_secs(30));
        match proxy {
            Some(url) => {
                let wrong = |_| ModelConfigError::new("proxy", "is not an address of a proxy");
                builder = builder
                    .no_proxy()
                    .proxy(reqwest::Proxy::all(url).map_err(wrong)?);
            }
            None if *settings.proxy == ProxyChoice::Environment => {}
            None => builder = builder.no_proxy(),
        }
        let client = builder.build().map_err(|error| {
            let message = format!("gives no client: {}", deepest(&error));
            ModelConfigError::new("base_url", masking.apply(&message))
        })?;
        Ok(Self {
            client,
            url: settings.url,
            headers: settings.headers,
            timeouts: settings.timeouts,
            masking,
        })
    }

    /// Sends a body of JSON and waits for the head of the answer.
    ///
    /// # Errors
    /// What kept the request from being taken, by kind; the words of a refusal are not yet masked.
    pub(super) async fn post(&self, body: Vec<u8>) -> Result<HttpAnswer, LlmError> {
        if body.len() > MOST_REQUEST_BYTES {
            let message = format!("the request has more than {MOST_REQUEST_BYTES} bytes");
            return Err(LlmError::new(LlmFault::ContextTooLong, message));
        }
        let request = self
            .client
            .post(self.url.clone())
            .headers(self.headers.clone())
            .header("content-type", "application/json")
            .body(body);
        let limit = self.timeouts.headers;
        let response = match tokio::time::timeout(limit, request.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(self.broken(&error, "no answer")),
            Err(_) => {
                let message = format!(
                    "{} sent no answer within {} ms",
                    config::origin(&self.url),
                    limit.as_millis()
                );
                return Err(LlmError::new(LlmFault::TimedOut, message));
            }
        };
        let answer = HttpAnswer {
            origin: config::origin(&self.url),
            idle: self.timeouts.idle,
            left: self.timeouts.total,
            taken: 0,
            response,
        };
        if !answer.response.status().is_success() {
            return Err(answer.refusal().await);
        }
        if let Some(encoding) = answer.response.headers().get(CONTENT_ENCODING)
            && encoding != "identity"
        {
            let message = "the answer is compressed although that was not asked for";
            return Err(LlmError::new(LlmFault::Malformed, message));
        }
        Ok(answer)
    }

    /// An error as it may leave: masked, then bounded.
    pub(super) fn masked(&self, mut error: LlmError) -> LlmError {
        error.message = fault::bounded(&self.masking.apply(&error.message));
        error
    }

    fn broken(&self, error: &reqwest::Error, what: &str) -> LlmError {
        let origin = config::origin(&self.url);
        let message = if error.is_connect() && error.is_timeout() {
            let limit = self.timeouts.connect.as_millis();
            format!("{origin}: no connection within {limit} ms")
        } else if error.is_connect() {
            format!("{origin}: no connection: {}", deepest(error))
        } else {
            format!("{origin}: {what}: {}", deepest(error))
        };
        LlmError::new(LlmFault::Transport, message)
    }
}

/// An answer whose head is there.
pub(super) struct HttpAnswer {
    response: reqwest::Response,
    origin: String,
    idle: Duration,
    /// What is left of the time for all pieces.
    left: Duration,
    taken: usize,
}

impl HttpAnswer {
    /// The next piece; none at the end. Waits at most `within` where that is shorter than the idle limit.
    ///
    /// # Errors
    /// [`LlmFault::Transport`], [`LlmFault::TimedOut`], [`LlmFault::Malformed`] for more bytes than the bound.
    pub(super) async fn piece(&mut self, within: Duration) -> Result<Option<Vec<u8>>, LlmError> {
        let limit = self.idle.min(self.left).min(within);
        let begun = Instant::now();
        let piece = match tokio::time::timeout(limit, self.response.chunk()).await {
            Ok(Ok(piece)) => piece,
            Ok(Err(error)) => {
                let message = format!("{}: the answer broke off: {}", self.origin, deepest(&error));
                return Err(LlmError::new(LlmFault::Transport, message));
            }
            Err(_) if limit == self.left => {
                let message = format!("{}: the answer took too long as a whole", self.origin);
                return Err(LlmError::new(LlmFault::TimedOut, message));
            }
            Err(_) => {
                let message = format!("{}: nothing came for {} ms", self.origin, limit.as_millis());
                return Err(LlmError::new(LlmFault::TimedOut, message));
            }
        };
        self.left = self.left.saturating_sub(begun.elapsed());
        let Some(piece) = piece else {
            return Ok(None);
        };
        self.taken = self.taken.saturating_add(piece.len());
        if self.taken > MOST_ANSWER_BYTES {
            let message = format!("the answer has more than {MOST_ANSWER_BYTES} bytes");
            return Err(LlmError::new(LlmFault::Malformed, message));
        }
        Ok(Some(piece.to_vec()))
    }

    /// Reads what is left of a complete answer where it comes at once.
    pub(super) async fn release(mut self) {
        let rest = async { while let Ok(Some(_)) = self.response.chunk().await {} };
        let _ = tokio::time::timeout(REST_WAIT, rest).await;
    }

    async fn refusal(mut self) -> LlmError {
        let mut body = Vec::new();
        let read = async {
            while let Ok(Some(piece)) = self.response.chunk().await {
                let room = MOST_REFUSAL_BYTES - body.len();
                body.extend_from_slice(&piece[..piece.len().min(room)]);
                if body.len() == MOST_REFUSAL_BYTES {
                    break;
                }
            }
        };
        let _ = tokio::time::timeout(REFUSAL_WAIT.min(self.idle), read).await;
        fault::of_status(
            self.response.status().as_u16(),
            self.response.headers(),
            &body,
        )
    }
}

fn is_plain(proxy: Option<&Url>) -> bool {
    proxy.is_some_and(|url| url.scheme() == "http")
}

fn masking(settings: &HttpSettings<'_>, proxy: Option<&Url>) -> Masking {
    let mut secrets: Vec<String> = Vec::new();
    secrets.extend(settings.key.map(|key| key.expose().to_owned()));
    secrets.extend(
        settings
            .configured
            .iter()
            .map(|(_, value)| value.expose().to_owned()),
    );
    secrets.extend(
        settings
            .url
            .query_pairs()
            .map(|(_, value)| value.into_owned()),
    );
    if let Some(proxy) = proxy {
        secrets.extend(proxy.password().map(str::to_owned));
    }
    Masking::new(secrets.iter().map(String::as_str))
}

/// TLS by the system's certificates; for plain addresses a form that trusts nobody, which reads nothing.
fn tls(secure: bool) -> Result<rustls::ClientConfig, ModelConfigError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let wrong = |error: rustls::Error| {
        let message = format!("needs TLS, which is not to be had: {error}");
        ModelConfigError::new("base_url", message)
    };
    let builder = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(wrong)?;
    if !secure {
        let nobody = rustls::RootCertStore::empty();
        return Ok(builder.with_root_certificates(nobody).with_no_client_auth());
    }
    let verifier = Verifier::new(provider).map_err(wrong)?;
    Ok(builder
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth())
}

/// The innermost cause, which holds no address: outer layers name it.
fn deepest(error: &reqwest::Error) -> String {
    let Some(mut cause) = error.source() else {
        return "the connection failed".to_owned();
    };
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
