import { expect, it } from "@effect/vitest"
import type { IncomingMessage } from "node:http"
import { isRepeatable, sentOf, subjectOf } from "../../src/internal/requests.ts"

const request = (method: string, url: string, headers = {}) => ({ method, url, headers }) as unknown as IncomingMessage

it.each(
  [
    ["GET", "/v1/sessions", "Other"],
    ["POST", "/v1/sessions", "Other"],
    ["GET", "/v1/events?from=1", "Other"],
    ["GET", "/v1/sessions/ses_1", "Tree"],
    ["GET", "/v1/sessions/ses_1?x=1", "Tree"],
    ["GET", "/v1/sessions/ses_1/events?from=0", "Tree"],
    ["POST", "/v1/tasks/ses_2/stop", "Tree"],
    ["GET", "/v1/asks", "Asks"],
    ["GET", "/v1/asks?session=ses_1", "Asks"],
    ["POST", "/v1/asks/ask_1/reply", "Reply"],
    ["GET", "/healthz", "Other"]
  ]
)("%s %s is about: %s", (method, url, tag) => {
  expect(subjectOf(request(method, url))._tag).toBe(tag)
})

it("a prompt is sent on with a key, so that it may be sent again, and a message to a task is not sent twice", () => {
  const prompt = sentOf(request("POST", "/v1/sessions/ses_1/prompt"), Buffer.from("{}"))
  expect(prompt.headers["idempotency-key"]).toMatch(/^cluster-/)
  expect(isRepeatable(prompt)).toBe(true)
  const keyed = sentOf(request("POST", "/v1/sessions/ses_1/prompt", { "idempotency-key": "mine" }), Buffer.from("{}"))
  expect(keyed.headers["idempotency-key"]).toBe("mine")
  expect(isRepeatable(sentOf(request("POST", "/v1/tasks/ses_2/message"), Buffer.from("{}")))).toBe(false)
  expect(isRepeatable(sentOf(request("GET", "/v1/sessions/ses_1"), Buffer.alloc(0)))).toBe(true)
})
