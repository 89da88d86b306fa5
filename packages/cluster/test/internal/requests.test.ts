import { expect, it } from "@effect/vitest"
import type { IncomingMessage } from "node:http"
import { askedBy } from "../../src/internal/exchange.ts"
import { beginsWork, isRepeatable, sentOf, subjectOf, waitsForTurn } from "../../src/internal/requests.ts"

const request = (method: string, url: string, headers = {}) => ({ method, url, headers }) as unknown as IncomingMessage

it.each(
  [
    ["GET", "/v1/sessions", "Other"],
    ["POST", "/v1/sessions", "Directory"],
    ["GET", "/v1/sessions?limit=1&directory=%2Fa", "Directory"],
    ["GET", "/v1/events?from=1", "Other"],
    ["GET", "/v1/sessions/ses_1", "Tree"],
    ["GET", "/v1/sessions/ses_1?x=1", "Tree"],
    ["GET", "/v1/sessions/ses_1/events?from=0", "Tree"],
    ["POST", "/v1/tasks/ses_2/stop", "Tree"],
    ["GET", "/v1/asks", "Asks"],
    ["GET", "/v1/asks?session=ses_1", "Asks"],
    ["POST", "/v1/asks/ask_1/reply", "Reply"],
    ["POST", "/v1/asks/%E0%A4%A/reply", "Other"],
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

it("some requests make agents work, and some wait for the end of a turn", () => {
  const of = (method: string, path: string) => [beginsWork({ method, path }), waitsForTurn({ method, path })]
  expect(of("POST", "/v1/sessions/ses_1/prompt")).toEqual([true, false])
  expect(of("POST", "/v1/sessions/ses_1/prompt?wait=true")).toEqual([true, true])
  expect(of("POST", "/v1/sessions/ses_1/prompt?x=1&wait=true")).toEqual([true, true])
  expect(of("POST", "/v1/sessions/ses_1/prompt?wait=false")).toEqual([true, false])
  expect(of("POST", "/v1/sessions/ses_1/resume")).toEqual([true, false])
  expect(of("POST", "/v1/sessions/ses_1/interrupt")).toEqual([false, false])
  expect(of("GET", "/v1/sessions/ses_1/turns/msg_1")).toEqual([false, true])
  expect(of("GET", "/v1/sessions/ses_1/rest?unattended=true")).toEqual([false, true])
  expect(of("GET", "/v1/sessions/ses_1/messages")).toEqual([false, false])
})

it("runners ask each other for room, offer trees and have them taken up", () => {
  const of = (method: string, url: string) => askedBy(request(method, url))
  expect(of("GET", "/v1/cluster/room/ses_1")).toEqual({ _tag: "Room", rootID: "ses_1" })
  expect(of("POST", "/v1/cluster/offer/ses_1/12")).toEqual({ _tag: "Offer", rootID: "ses_1", slots: 12 })
  expect(of("POST", "/v1/cluster/take/ses_1")).toEqual({ _tag: "Take", rootID: "ses_1" })
  for (const url of ["/v1/cluster", "/v1/cluster/offer/ses_1/-1", "/v1/cluster/take/ses_1/2/3"]) {
    expect(of("POST", url)).toBeUndefined()
  }
  expect(of("POST", "/v1/cluster/room/ses_1")).toBeUndefined()
  expect(of("GET", "/v1/cluster/take/ses_1")).toBeUndefined()
})
