/** Names an answer that no client understands. */

/** What the error in its place says. */
export const unintelligible = "its answer is no answer of JSON-RPC"
