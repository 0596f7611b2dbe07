// The two ready-made policies on how results are shortened.

import type { ToolResultTransformPolicy as Policy } from './generated/types.js';

/** How long results are shortened: `a3s.code.tool-result-transform-policy.v1`. */
export type ToolResultTransformPolicy = Policy;

const SCHEMA = 'a3s.code.tool-result-transform-policy.v1';

/** Ready-made policies. */
export const ToolResultTransformPolicy = {
  /** What holds when no policy is given: the first 100 KiB. */
  conservative(): Policy {
    return {
      schema: SCHEMA,
      maxOutputBytes: 102_400,
      headBytes: 102_400,
      tailBytes: 0,
      foldRepeatedLines: false,
      repeatedLineThreshold: 3,
      structuredSampleItems: 0,
    };
  },
  /** 64 KiB from the beginning and 32 KiB from the end; equal lines folded, long lists sampled. */
  contextEfficient(): Policy {
    return {
      schema: SCHEMA,
      maxOutputBytes: 102_400,
      headBytes: 65_536,
      tailBytes: 32_768,
      foldRepeatedLines: true,
      repeatedLineThreshold: 3,
      structuredSampleItems: 32,
    };
  },
} as const;
