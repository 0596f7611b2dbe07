// Functions of the native half, private to the binding. All are synchronous and none throws for an error
// of the library: errors are messages with status 1.

declare namespace native {
  interface NativeMessage {
    /** 1 completion, 2 host call, 3 host cancel, 4 log, 5 closed. */
    kind: number;
    /** 0 well, 1 error. */
    status: number;
    id: number;
    owner: number;
    /** JSON. */
    payload: string;
    /** Bytes beside the JSON; a string where text was asked for. */
    data?: string | Buffer;
  }

  function openClient(
    debug: boolean,
    notify: () => void,
  ): { runtime: number; mailbox: number } | NativeMessage;
  function call(
    target: number,
    mailbox: number,
    method: string,
    json: string,
    data: Buffer | undefined,
    asText: boolean,
  ): number | NativeMessage;
  function mailboxNext(mailbox: number): NativeMessage | null;
  function cancel(op: number): void;
  function hostReply(hostCall: number, json: string, text: string): number;
  function hostProgress(hostCall: number, text: string): number;
  function hold(mailbox: number, object: number): void;
  function release(mailbox: number, object: number): void;
  function nextHostRef(): number;
  function debugCounts(): string;
  function buildInfo(): string;
}

export = native;
