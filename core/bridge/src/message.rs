//! What crosses the boundary: plain data.

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum MessageKind {
    /// An operation ended; `id` is the operation.
    Completion = 1,
    /// The application is asked to run a tool; `id` is the host call to answer.
    HostCall = 2,
    /// A host call is no longer needed; an answer is harmless.
    HostCancel = 3,
    /// Log lines.
    Log = 4,
    /// The mailbox is closed.
    Closed = 5,
}

/// One message: JSON, and raw bytes beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// What it is.
    pub kind: MessageKind,
    /// 0 for success, 1 for an error whose payload is an `ErrorPayload`.
    pub status: i32,
    /// Operation or host call.
    pub id: u64,
    /// Object it belongs to.
    pub owner: u64,
    /// JSON.
    pub payload: Vec<u8>,
    /// Raw bytes.
    pub data: Vec<u8>,
}

/// How a call was answered.
#[derive(Debug)]
pub enum CallOutcome {
    /// At once; no operation is live.
    Done(Message),
    /// Later: one completion with this id will arrive in the mailbox.
    Pending(u64),
}

/// What a mailbox had.
#[derive(Debug)]
pub enum Next {
    /// A message.
    Message(Message),
    /// Nothing within the time.
    Timeout,
    /// It is closed.
    Closed,
}

/// What became of an answer to a host call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum ReplyStatus {
    /// It was taken.
    Accepted = 0,
    /// The call no longer needs it.
    Stale = 1,
    /// It could not be read; the call failed with the reason.
    Invalid = 2,
}
