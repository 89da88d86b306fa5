import { expect, it } from "@effect/vitest"
import { makeRedactor } from "@skein/provider/Redactor"
import * as Redacted from "effect/Redacted"

const redact = makeRedactor([Redacted.make("whisper \"quoted\"")])

it.each([
  ["as it is", "key whisper \"quoted\" end"],
  ["in a URL", `http://host/?q=${encodeURIComponent("whisper \"quoted\"")}`],
  ["in JSON", JSON.stringify({ key: "whisper \"quoted\"" })]
])("a known secret is redacted %s", (_, text) => {
  expect(redact(text)).not.toMatch(/whisper/)
  expect(redact(text)).toContain("[redacted]")
})

it.each([
  ["Authorization: Bearer abcdef.123456", "Authorization: Bearer [redacted]"],
  ["authorization: abcdef123456", "authorization: [redacted]"],
  ["{\"authorization\":\"abcdef123456\"}", "{\"authorization\":\"[redacted]\"}"],
  ["x-api-key=abcdef123456 next", "x-api-key=[redacted] next"],
  ["used sk-proj-abcdef123456.", "used [redacted]."],
  ["https://user:pass@host/v1", "https://[redacted]@host/v1"],
  ["https://host/v1?key=abcdef&b=1", "https://host/v1?key=[redacted]&b=1"],
  ["https://host/v1?a=1&access_token=abcdef#x", "https://host/v1?a=1&access_token=[redacted]#x"],
  ["the author, her key and a token: none", "the author, her key and a token: none"],
  ["https://host/a?page=2", "https://host/a?page=2"]
])("%s", (text, safe) => {
  expect(redact(text)).toBe(safe)
})
