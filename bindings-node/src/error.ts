// The one error type of the binding. Subclasses per code are generated; this file knows none of them.

import type { ErrorCode } from './generated/types.js';

/** Shared by every copy of this module, because `instanceof` fails over realms and double installs. */
const BRAND: unique symbol = Symbol.for('a3s.code.error') as never;

/** What an error is made of. */
export interface A3SErrorInit {
  code: ErrorCode;
  message: string;
  retryable?: boolean;
  retryAfterMs?: number;
  details?: Record<string, any>;
  causes?: string[];
  cause?: unknown;
}

/** An error of the library; `code` is stable, `message` is for a person. */
export class A3SError extends Error {
  /** Stable code. */
  readonly code: ErrorCode;
  /** Whether trying again unchanged can succeed. */
  readonly retryable: boolean;
  /** How long to wait before that, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** Facts for programs, such as `field`, `argument`, `bound` or `errorKind`. */
  readonly details: Record<string, any> | undefined;
  /** Messages of the causes inside the library, outermost first. */
  readonly causes: readonly string[];

  constructor(init: A3SErrorInit) {
    super(init.message, 'cause' in init ? { cause: init.cause } : undefined);
    this.name = new.target.name;
    this.code = init.code;
    this.retryable = init.retryable ?? false;
    this.retryAfterMs = init.retryAfterMs;
    this.details = init.details;
    this.causes = init.causes ?? [];
    Object.defineProperty(this, BRAND, { value: true });
  }

  /**
   * Tells whether a value is an error of the library, also one of another copy of this package.
   *
   * @param value Anything that was thrown.
   * @param code Only this code, when given.
   */
  static is(value: unknown, code?: ErrorCode): value is A3SError {
    return (
      typeof value === 'object' &&
      value !== null &&
      (value as { [BRAND]?: boolean })[BRAND] === true &&
      (code === undefined || (value as A3SError).code === code)
    );
  }
}
