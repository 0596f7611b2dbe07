//! The built-in search: walks the tree of any file system, keeps nothing between calls.

use super::files::read_whole;
use super::lines::{self, Lines};
use super::walk::candidates;
use super::{
    FileMatches, GlobRequest, GlobResponse, GrepDetail, GrepRequest, GrepResponse, MAX_FILE_BYTES,
    MAX_NAMED_OVERSIZE, MAX_REVISIONS, OversizedFile, PathOrder, SearchBackend, SearchError,
    SearchScope,
};
use crate::workspace::{WorkspaceError, WorkspacePath};
use sha2::{Digest, Sha256};
use std::cell::Cell;

/// Paths that changed last and come first in backend order.
const RECENT: usize = 128;

/// Search by walking, over any file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct TreeSearch;

impl SearchBackend for TreeSearch {
    fn glob(
        &self,
        request: &GlobRequest,
        scope: SearchScope<'_>,
    ) -> Result<GlobResponse, SearchError> {
        let found = candidates(&request.path, scope, |path, folder| {
            request.pattern.matches_path(path, folder)
        })?;
        let paths = match request.order {
            PathOrder::Path => found.paths,
            PathOrder::Backend => recent_first(found.paths, scope)?,
        };
        Ok(GlobResponse {
            paths,
            truncated: false,
        })
    }

    fn grep(
        &self,
        request: &GrepRequest,
        scope: SearchScope<'_>,
    ) -> Result<GrepResponse, SearchError> {
        let matcher = lines::compile(&request.pattern, request.case_sensitive)?;
        let withheld_files = Cell::new(0);
        let found = candidates(&request.path, scope, |path, folder| {
            let asked_for = request
                .include
                .as_ref()
                .is_none_or(|include| include.admits(path, folder));
            let withheld = asked_for && scope.withheld.is_some_and(|withheld| withheld(path));
            withheld_files.set(withheld_files.get() + u64::from(withheld));
            asked_for && !withheld
        })?;
        let mut searcher = lines::searcher(request.detail);
        let mut response = GrepResponse {
            failed_reads: found.failed_folders,
            withheld_files: withheld_files.get(),
            ..GrepResponse::default()
        };
        let mut buffer = Vec::new();
        let mut used = 0;
        for path in found.paths {
            if (scope.cancelled)() {
                return Err(SearchError::Cancelled);
            }
            match content(&path, scope, &mut buffer, &mut response) {
                Ok(true) => {}
                Ok(false) => continue,
                Err(WorkspaceError::WouldBlock) => return Err(WorkspaceError::WouldBlock.into()),
                // Removed since it was listed: no longer a file of the tree.
                Err(WorkspaceError::NotFound { .. }) => continue,
                Err(_) => {
                    response.failed_reads += 1;
                    continue;
                }
            }
            if lines::is_binary(&buffer) {
                continue;
            }
            let mut lines = Lines {
                matcher: &matcher,
                path: &path,
                detail: request.detail,
                used: &mut used,
                text: &mut response.text,
                matching_lines: 0,
                rows: Vec::new(),
                lines_built: 0,
                full: false,
            };
            if searcher
                .search_slice(&matcher, &buffer, &mut lines)
                .is_err()
            {
                response.failed_reads += 1;
                continue;
            }
            response.work.lines_built += lines.lines_built;
            let (full, matching_lines, rows) = (lines.full, lines.matching_lines, lines.rows);
            if matching_lines > 0 {
                let revision = (!rows.is_empty() && response.files.len() < MAX_REVISIONS)
                    .then(|| revision_of(&buffer));
                response.files.push(FileMatches {
                    path,
                    matching_lines,
                    revision,
                    rows,
                });
            }
            if full {
                if let GrepDetail::Everything { max_bytes } = request.detail {
                    return Err(SearchError::TooLarge {
                        size: response.text.len() as u64,
                        max: max_bytes as u64,
                    });
                }
                response.truncated = true;
                break;
            }
        }
        Ok(response)
    }
}

/// Reads a file; false when it is too large to search.
fn content(
    path: &str,
    scope: SearchScope<'_>,
    buffer: &mut Vec<u8>,
    response: &mut GrepResponse,
) -> Result<bool, WorkspaceError> {
    let file = scope
        .files
        .open(&WorkspacePath::from_spelled(path.to_owned()), scope.wait)?;
    response.work.opened_files += 1;
    let size = file.metadata().len;
    if size > MAX_FILE_BYTES {
        response.skipped_oversize += 1;
        if response.oversized.len() < MAX_NAMED_OVERSIZE {
            response.oversized.push(OversizedFile {
                path: path.to_owned(),
                size,
            });
        }
        return Ok(false);
    }
    read_whole(&*file, MAX_FILE_BYTES, buffer, scope.wait)?;
    response.work.read_bytes += buffer.len() as u64;
    Ok(true)
}

/// Puts the paths that changed last first, newest first; the rest stays in lexical order.
fn recent_first(paths: Vec<String>, scope: SearchScope<'_>) -> Result<Vec<String>, SearchError> {
    let mut times = Vec::with_capacity(paths.len());
    for (at, path) in paths.iter().enumerate() {
        if (scope.cancelled)() {
            return Err(SearchError::Cancelled);
        }
        let path = WorkspacePath::from_spelled(path.clone());
        match scope.files.metadata(&path, scope.wait) {
            Ok(facts) => times.push((std::cmp::Reverse(facts.modified_ns), at)),
            Err(WorkspaceError::WouldBlock) => return Err(WorkspaceError::WouldBlock.into()),
            Err(_) => times.push((std::cmp::Reverse(i128::MIN), at)),
        }
    }
    if times.len() > RECENT {
        times.select_nth_unstable(RECENT - 1);
        times[RECENT..].sort_unstable_by_key(|(_, at)| *at);
    }
    let recent = times.len().min(RECENT);
    times[..recent].sort_unstable();
    let mut paths: Vec<Option<String>> = paths.into_iter().map(Some).collect();
    Ok(times
        .into_iter()
        .filter_map(|(_, at)| paths.get_mut(at).and_then(Option::take))
        .collect())
}

/// Version of a content: `sha256:` and its digest in lower-case hexadecimal.
fn revision_of(content: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut revision = "sha256:".to_owned();
    for byte in Sha256::digest(content) {
        let _ = write!(revision, "{byte:02x}");
    }
    revision
}
