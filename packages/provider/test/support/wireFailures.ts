import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { ask, callsOf, finishOf, json, serve, sse, textOf } from "./Server.ts"
import { answered, end, modelAt, secret, usual, type Wire } from "./wireCase.ts"

/** The tests of failures that every API must pass. */
export const wireFailures = (wire: Wire): void => {
  const answer = answered(wire)
  const usage = usual(wire)

  it.scoped.each([400, 401, 403, 404, 422])(
    "P04: a %i is final, and its message holds no key",
    (status) =>
      Effect.gen(function*() {
        const { error, server } = yield* answer((response) =>
          json(response, status, { error: { message: `Incorrect API key provided: ${secret}`, type: "x" } }, {
            "x-echo": secret
          })
        )
        expect(error).toMatchObject({
          reason: status === 401 || status === 403 ? "auth" : "invalid_request",
          retryable: false,
          status
        })
        expect(error?.message).toContain("Incorrect API key provided: [redacted]")
        expect(JSON.stringify(error)).not.toContain(secret)
        expect(server.seen).toHaveLength(1)
      })
  )

  it.scoped.each(
    [[429, "rate_limit"], [500, "server"], [502, "server"], [503, "server"], [529, "overloaded"]] as const
  )(
    "P03: a %i is retryable (%s)",
    ([status, reason]) =>
      Effect.gen(function*() {
        const { error, server } = yield* answer((response) =>
          response.writeHead(status, { "retry-after": "2" }).end("<html>no</html>")
        )
        expect(error).toMatchObject({ reason, retryable: true, status, retryAfter: 2_000 })
        expect(error?.message).not.toContain("html")
        expect(server.seen).toHaveLength(1)
      })
  )

  it.scoped.each([
    { code: "invalid_encrypted_content", message: "The encrypted content could not be verified." },
    { message: "messages.1.content.0: Invalid `signature` in `thinking` block" },
    { message: "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified." },
    { message: "Corrupted thought signature." },
    {
      message: "Provider returned error",
      metadata: { raw: JSON.stringify({ error: { message: "Invalid signature" } }) }
    }
  ])("names a refused signature as such: %o", (error) =>
    Effect.gen(function*() {
      const { error: found } = yield* answer((response) => json(response, 400, { error }))
      expect(found).toMatchObject({ reason: "reasoning_refused", retryable: false, status: 400 })
      const { error: key } = yield* answer((response) => json(response, 403, { error }))
      expect(key).toMatchObject({ reason: "auth" })
    }))

  it.scoped("shows what a gateway says of the provider behind it, and judges by that", () =>
    Effect.gen(function*() {
      const said = (raw: unknown, status = 400) =>
        answer((response) =>
          json(response, status, {
            error: { message: "Provider returned error", code: status, metadata: { raw, provider_name: "Corp" } }
          })
        )
      const asText = yield* said("upstream: unknown parameter foo")
      expect(asText.error?.message).toContain("Provider returned error (Corp: upstream: unknown parameter foo)")
      const tooLong = { error: { message: "This model's maximum context length is 8192 tokens" } }
      expect((yield* said(JSON.stringify(tooLong))).error).toMatchObject({ reason: "context_overflow" })
      expect((yield* said(tooLong)).error?.message).toContain(
        "(Corp: This model's maximum context length is 8192 tokens)"
      )
      expect((yield* said({ error: { message: `leaks ${secret}` } }, 502)).error?.message).toContain("[redacted]")
    }))

  it.scoped("names the context of a local server, and how to enlarge it", () =>
    Effect.gen(function*() {
      const { error } = yield* answer((response) =>
        json(response, 400, {
          error: {
            code: 400,
            message: "the request exceeds the available context size, try increasing it",
            type: "exceed_context_size_error",
            n_prompt_tokens: 9_000,
            n_ctx: 4_096
          }
        })
      )
      expect(error).toMatchObject({ reason: "context_overflow" })
      expect(error?.message).toContain("n_ctx is 4096 tokens")
      expect(error?.message).toContain("OLLAMA_CONTEXT_LENGTH")
    }))

  it.scoped("P05: a refused connection on this machine is retried once, and the message says what to set", () =>
    Effect.gen(function*() {
      const { host, url } = yield* Effect.scoped(serve(() => {}))
      const { error, events } = yield* ask(yield* modelAt(wire, url))
      expect(error).toMatchObject({ reason: "network", retryable: true, tries: 2 })
      expect(error?.message).toContain(`${host} refused the connection (ECONNREFUSED)`)
      expect(error?.message).toContain(".base_url")
      expect(events).toEqual([])
    }))

  it.scoped("P05: an unknown host is retried once, and the message says what to set", () =>
    Effect.gen(function*() {
      const { error } = yield* ask(yield* modelAt(wire, "http://no-such-host.invalid/v1"))
      // A machine without a name server cannot tell whether the host exists.
      const isKnown = error?.message.includes("ENOTFOUND") === true
      expect(error).toMatchObject({ reason: "network", retryable: true, ...isKnown ? { tries: 2 } : {} })
      expect(error?.message).toContain("no-such-host.invalid")
      expect(error?.message).toContain(".base_url")
    }))

  it.scoped("P05: TLS with a server without TLS is final", () =>
    Effect.gen(function*() {
      const server = yield* serve(() => {})
      const { error, events } = yield* ask(yield* modelAt(wire, server.url.replace("http:", "https:")))
      expect(error).toMatchObject({ reason: "network", retryable: false })
      expect(error?.message).toContain("Use http://")
      expect(events).toEqual([])
    }))

  it.scoped("a missing path gets a hint that base URLs usually end in /v1", () =>
    Effect.gen(function*() {
      const server = yield* serve((response) => json(response, 404, { error: "404 page not found" }))
      const model = yield* modelAt(wire, server.url.replace("/v1", ""))
      const { error } = yield* ask(model)
      expect(error).toMatchObject({ reason: "invalid_request", retryable: false, status: 404 })
      expect(wire.addsVersion === true ? server.seen[0]?.url : error?.message).toContain("/v1")
    }))

  it.scoped("P05: a connection that is reset before the answer is a network error", () =>
    Effect.gen(function*() {
      const { error } = yield* answer((response) => response.socket?.resetAndDestroy())
      expect(error).toMatchObject({ reason: "network", retryable: true })
    }))

  it.scoped("P09: a cut in the middle of arguments is a network error, and emits no call", () =>
    Effect.gen(function*() {
      const { asked, error } = yield* answer((response) => {
        sse(
          response,
          ...wire.begin,
          ...wire.text("wait"),
          ...wire.callBegin("call_a", "bash", "{\"command\":\"rm -rf /tmp/x")
        )
        setImmediate(() => response.socket?.resetAndDestroy())
      })
      expect(error).toMatchObject({ reason: "network", retryable: true })
      expect(callsOf(asked)).toEqual([])
      expect(finishOf(asked)).toBeUndefined()
    }))

  it.scoped("P16: an empty stream, or one with only its end marker, is an empty response", () =>
    Effect.gen(function*() {
      for (const frames of [[], ["data: [DONE]\n\n"]]) {
        const { error } = yield* answer((response) => sse(response, ...frames).end())
        expect(error).toMatchObject({ reason: "empty_response", retryable: true })
      }
    }))

  it.scoped("an answer that ends without a finish reason is a bad response", () =>
    Effect.gen(function*() {
      const { asked, error } = yield* answer((response) => sse(response, ...wire.begin, ...wire.text("half a")).end())
      expect(error).toMatchObject({ reason: "bad_response", retryable: true })
      expect(finishOf(asked)).toBeUndefined()
    }))

  it.scoped("P18: a conversation that is too long is reported as such", () =>
    Effect.gen(function*() {
      const { error } = yield* answer((response) =>
        json(response, 400, {
          error: { message: "Too long.", type: "invalid_request_error", code: "context_length_exceeded" }
        })
      )
      expect(error).toMatchObject({ reason: "context_overflow", retryable: false, status: 400 })
    }))

  it.scoped.each(
    wire.errors ?? [
      [{ type: "overloaded_error" }, "overloaded", true],
      [{ type: "overloaded_error", message: "Overloaded" }, "overloaded", true],
      [{ type: "invalid_request_error", message: "No." }, "invalid_request", false],
      [{ type: "server_error", message: "Oops", code: "server_error" }, "server", true],
      [{ type: "tokens", code: "rate_limit_exceeded", message: "Slow. Please try again in 1.5s." }, "rate_limit", true],
      [{ type: "insufficient_quota", code: "insufficient_quota", message: "Pay." }, "rate_limit", false],
      [{ type: "x", code: "context_length_exceeded", message: "Too long." }, "context_overflow", false]
    ] as const
  )("P24: an error event %j is %s", ([error, reason, retryable]) =>
    Effect.gen(function*() {
      const event = { type: "error", sequence_number: 2, error }
      for (const before of [wire.begin, [...wire.begin, ...wire.text("half")]]) {
        const asked = yield* answer((response) => sse(response, ...before, event).end())
        expect(asked.error).toMatchObject({ reason, retryable })
        expect(finishOf(asked)).toBeUndefined()
      }
    }))

  it.scoped("a line that is not JSON fails the answer, even if the stream continues", () =>
    Effect.gen(function*() {
      const { asked, error } = yield* answer((response) =>
        end(
          response,
          ...wire.begin,
          ...wire.text("one"),
          "data: {\"oops\n\n",
          ...wire.text("two"),
          ...wire.finish("stop", usage)
        )
      )
      expect(error).toMatchObject({ reason: "bad_response", retryable: true })
      expect(textOf(asked)).toBe("one")
    }))

  it.scoped.each(
    [["text/html; charset=utf-8", false], ["application/json", true]] as const
  )(
    "an answer of %s instead of a stream ends soon, and its socket is closed",
    ([kind, retryable]) =>
      Effect.gen(function*() {
        const { error, events, server } = yield* answer((response) =>
          void response.writeHead(200, { "content-type": kind }).write("<html>Log in")
        )
        expect(error).toMatchObject({ reason: "bad_response", retryable })
        expect(error?.message).toContain(`http://${server.host}${wire.path.split("?")[0]} answered 200 with ${kind}`)
        expect(error?.message).toContain(".base_url")
        expect(events).toEqual([{ type: "connected" }])
        yield* server.closed
      })
  )

  it.scoped.each(
    [
      [{ error: { message: "Your key has no access", code: 403 } }, "auth", false],
      [{ error: { message: "Your key has no access" } }, "server", false],
      [{ error: { message: "Your key has no access", code: "server_error" } }, "server", true],
      [{ error: { message: "Your key has no access", code: 429 } }, "rate_limit", true],
      [[{ error: { message: "Your key has no access", code: 400 } }], "invalid_request", false]
    ] as const
  )(
    "the error %j that comes as a success shows its message",
    ([body, reason, retryable]) =>
      Effect.gen(function*() {
        const { error, server } = yield* answer((response) => json(response, 200, body))
        expect(error).toMatchObject({ reason, retryable })
        expect(error?.message).toContain("Your key has no access")
        expect(error?.message).not.toContain(".base_url")
        expect(server.seen).toHaveLength(1)
      })
  )

  it.scoped.each([
    { object: "chat.completion", choices: [{ message: { role: "assistant", content: "Hi" } }] },
    { object: "response", error: null, output: [] },
    { type: "message", role: "assistant", content: [] },
    { candidates: [] }
  ])("of a server that answers %j, it is said that it does not stream", (body) =>
    Effect.gen(function*() {
      const { error } = yield* answer((response) => json(response, 200, body))
      expect(error).toMatchObject({ reason: "bad_response", retryable: false })
      expect(error?.message).toContain("does not stream")
    }))

  it.scoped("an error that comes as a success ends the request although its connection stays open", () =>
    Effect.gen(function*() {
      const { error, server } = yield* answer((response) => {
        response.writeHead(200, { "content-type": "application/json" }).write("{\"error\":")
        setImmediate(() => response.write("{\"message\":\"No\",\"code\":400}}"))
      })
      expect(error).toMatchObject({ reason: "invalid_request", retryable: false })
      yield* server.closed
    }))

  it.scoped.each(["sk-one\nsk-two", "sk-schlüssel", "sk-\u200bx"])(
    "the key %j is refused before anybody is asked",
    (key) =>
      Effect.gen(function*() {
        const server = yield* serve((response) => response.writeHead(400).end())
        const vendor = yield* wire.vendor(server.url, Redacted.make(key))
        const error = yield* Effect.flip(vendor.model("m"))
        expect(error).toMatchObject({ _tag: "ModelUnavailable", reason: "bad_config" })
        expect(error.message).toMatch(
          /^The key in [A-Z_]+_KEY holds a character at position \d+ that no header may have/
        )
        expect(error.message).not.toContain(key)
        expect(server.seen).toEqual([])
      })
  )

  it.scoped("P29: a redirect is not followed", () =>
    Effect.gen(function*() {
      const other = yield* serve((response) =>
        end(response, ...wire.begin, ...wire.text("stolen"), ...wire.finish("stop", usage))
      )
      const { error } = yield* answer((response) => response.writeHead(302, { location: `${other.url}/x` }).end())
      expect(error).toMatchObject({ reason: "invalid_request", retryable: false, status: 302 })
      expect(error?.message).toContain(other.host)
      expect(other.seen).toEqual([])
    }))

  it.scoped("P30: a count of NaN, which is not JSON, is never a number", () =>
    Effect.gen(function*() {
      const { asked, error } = yield* answer((response) => {
        const [last] = wire.finish("stop", wire.usage("NAN", 3)).slice(-1)
        end(response, ...wire.begin, ...wire.text("ok"), `data: ${JSON.stringify(last).replace("\"NAN\"", "NaN")}\n\n`)
      })
      expect(error).toMatchObject({ reason: "bad_response", retryable: true })
      expect(finishOf(asked)).toBeUndefined()
    }))
}
