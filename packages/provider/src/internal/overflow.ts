/** Detects that a conversation is too long for its model. Every provider words this differently. */

const codes = new Set([
  "context_length_exceeded",
  "exceed_context_size_error",
  "model_context_window_exceeded",
  "model_max_prompt_tokens_exceeded",
  "request_too_large",
  "tokens_limit_reached"
])

const wordings: ReadonlyArray<RegExp> = [
  /context[ _](?:length|window|size)[ _](?:\w+ )?exceed/i,
  /exceed\w*(?: the)?(?: \w+){0,3} (?:context|maximum|model)[ _](?:length|window|size|token|prompt|input|limit)/i,
  /(?:maximum|max|greater than the|available) context[ _](?:length|window|size)/i,
  /maximum (?:prompt|input) length/i,
  /(?:prompt|input|request|conversation)(?: \w+){0,3} (?:is|are) too (?:long|large)/i,
  /prompt too long/i,
  /too many (?:input |prompt )?tokens/i,
  /input token count .{0,40}exceeds/i,
  /exceeds? the (?:limit|maximum) of [\d,]+ tokens/i,
  /exceeded model token limit/i,
  /reduce the length of (?:the|your) (?:messages|prompt|input)/i,
  /`inputs` tokens \+ `max_new_tokens` must be/i
]

/** One request alone exceeds the tokens per minute: waiting does not help, a shorter request does. */
const largerThanAMinute = /request too large for .{0,200}tokens per min/i

/** Whether this error says that the conversation was too long. */
export const isOverflow = (error: {
  readonly status?: number | undefined
  readonly codes: ReadonlyArray<string>
  readonly text: string
}): boolean =>
  error.codes.some((code) => codes.has(code)) || error.status === 413 ||
  largerThanAMinute.test(error.text) ||
  (error.status !== 429 && wordings.some((wording) => wording.test(error.text)))
