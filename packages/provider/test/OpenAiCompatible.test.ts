import { describe, expect, it } from "@effect/vitest"
import type { PromptMessage } from "@skein/core/Provider"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type { ServerResponse } from "node:http"
import * as OpenAiCompatible from "../src/OpenAiCompatible.ts"
import { chatWire } from "./support/chatWire.ts"
import { ask, callsOf, request, serve, sse } from "./support/Server.ts"
import { wireSuite } from "./support/wire.ts"

const wire = chatWire((baseUrl, apiKey) => OpenAiCompatible.make({ id: "corp", baseUrl, apiKey, keyName: "CORP_KEY" }))

type Answered = Extract<PromptMessage, { readonly role: "assistant" }>

const output = { type: "text", value: "a.txt" } as const

const wireDelta = (delta: object) => ({ id: "c", choices: [{ index: 0, delta }] })

describe("a compatible server", () => {
  wireSuite(wire)
})

describe("OpenAiCompatible", () => {
  it.scoped("asks for usage unless the server refuses that", () =>
    Effect.gen(function*() {
      for (const refusesUsage of [false, true]) {
        const server = yield* serve((response) => response.writeHead(400).end())
        const vendor = yield* OpenAiCompatible.make({ id: "corp", baseUrl: server.url, refusesUsage })
        yield* ask(yield* vendor.model("m"))
        expect(server.seen[0]?.body.includes("include_usage")).toBe(!refusesUsage)
        expect(server.seen[0]?.headers.authorization).toBeUndefined()
      }
    }))

  it.scoped("emits reasoning and sends it back", () =>
    Effect.gen(function*() {
      const server = yield* serve((response) =>
        sse(
          response,
          { id: "c", choices: [{ index: 0, delta: { role: "assistant", reasoning_content: "hm" } }] },
          ...wire.text("so"),
          ...wire.finish("stop")
        ).end()
      )
      const vendor = yield* OpenAiCompatible.make({ id: "corp", baseUrl: server.url })
      const model = yield* vendor.model("m")
      const { events } = yield* ask(model, {
        messages: [
          { role: "user", content: [{ type: "text", text: "?" }] },
          {
            role: "assistant",
            content: [
              { type: "reasoning", text: "thought" },
              { type: "tool-call", toolCallId: "a", toolName: "bash", input: {} }
            ]
          },
          {
            role: "tool",
            content: [{
              type: "tool-result",
              toolCallId: "a",
              toolName: "bash",
              output: { type: "text", value: "(no output)" }
            }]
          }
        ]
      })
      expect(events.filter(({ type }) => type.startsWith("reasoning"))).toEqual([
        { type: "reasoning-start", id: "reasoning-0" },
        { type: "reasoning-delta", id: "reasoning-0", delta: "hm" },
        { type: "reasoning-end", id: "reasoning-0", metadata: { corp: { field: "reasoning_content" } } }
      ])
      expect(server.seen[0]?.body).toContain("\"reasoning_content\":\"thought\"")
    }))

  it.scoped("sends what a server signed back to the same model as it came, whatever it is", () =>
    Effect.gen(function*() {
      const details = [
        { type: "reasoning.text", index: 0, format: "anthropic-claude-v1", text: "Hm, so", signature: "sig" },
        { type: "reasoning.encrypted", index: 1, data: "AAA=", id: "rs_1" }
      ]
      const [first] = details
      const call = {
        id: "a",
        type: "function",
        function: { name: "bash", arguments: "{}" },
        extra_content: { google: { thought_signature: "SIG==" } }
      }
      const server = yield* serve((response) =>
        sse(
          response,
          wireDelta({ reasoning: "Hm", reasoning_details: [{ ...first, text: "Hm", signature: undefined }] }),
          wireDelta({ reasoning: ", so", reasoning_details: [{ ...first, text: ", so", signature: null }] }),
          wireDelta({ reasoning_details: [{ type: "reasoning.text", index: 0, signature: "sig" }] }),
          wireDelta({ content: "I look." }),
          wireDelta({ reasoning_details: [details[1]] }),
          wireDelta({ tool_calls: [{ index: 0, ...call }] }),
          ...wire.finish("tool_calls")
        ).end()
      )
      const vendor = yield* OpenAiCompatible.make({ id: "router", baseUrl: server.url })
      const { events } = yield* ask(yield* vendor.model("google/gemini-4"))
      expect(events.flatMap((event) => event.type === "reasoning-delta" ? [event.delta] : []).join("")).toBe("Hm, so")
      const author = { providerID: "router", modelID: "google/gemini-4" }
      const content = events.flatMap((event): Answered["content"] => {
        if (event.type === "tool-call") {
          return [{
            type: "tool-call",
            toolCallId: "prt_1",
            toolName: event.name,
            input: {},
            providerOptions: event.metadata ?? {}
          }]
        }
        if (event.type !== "reasoning-end") return []
        return [{ type: "reasoning", text: "", providerOptions: event.metadata ?? {} }]
      })
      const answer: Answered = { role: "assistant", model: author, content }
      const result = { type: "tool-result", toolCallId: "prt_1", toolName: "bash", output } as const
      const messages = [...request().messages, answer, { role: "tool", content: [result] } as const]
      const sentTo = (modelID: string) =>
        Effect.gen(function*() {
          yield* ask(yield* vendor.model(modelID), { messages })
          return (JSON.parse(server.seen.at(-1)?.body ?? "") as { messages: ReadonlyArray<unknown> }).messages[1]
        })
      expect(yield* sentTo("google/gemini-4")).toMatchObject({
        role: "assistant",
        reasoning_details: details,
        tool_calls: [{ ...call, id: "prt_1" }]
      })
      expect(JSON.stringify(yield* sentTo("other"))).not.toMatch(/SIG==|AAA=|reasoning/)
    }))

  it.scoped("a call that the server did not accept is one that the model can fix", () =>
    Effect.gen(function*() {
      const written = "{\"name\": \"bash\", \"arguments\": {\"cmd\": \"ls\"}"
      const groq = { message: "Failed to call a function.", code: "tool_use_failed", failed_generation: written }
      const vllm = { message: "Invalid tool call: arguments are not valid JSON", type: "BadRequestError", code: 400 }
      const ollama = { message: "error parsing tool call: raw='{\"name\": \"bash\", oops', err=invalid character" }
      const frame = (error: object) => (response: ServerResponse) => {
        sse(response, wireDelta({ content: "I look." }), { error }).end()
      }
      const refusal = (status: number, error: object) => (response: ServerResponse) => {
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ error }))
      }
      for (
        const [answer, name, input] of [
          [refusal(400, groq), "bash", written],
          [refusal(500, ollama), "bash", "{\"name\": \"bash\", oops"],
          [frame(vllm), "unknown", ""],
          [frame(groq), "bash", written]
        ] as const
      ) {
        const server = yield* serve(answer)
        const vendor = yield* OpenAiCompatible.make({ id: "corp", baseUrl: server.url })
        const asked = yield* ask(yield* vendor.model("m"))
        expect(asked.error).toBeUndefined()
        expect(callsOf(asked)).toMatchObject([{ name, input, fault: expect.stringContaining("did not accept") }])
        expect(asked.events.at(-1)).toMatchObject({ type: "finish", finish: "tool-calls" })
        // Without tools, there is nothing to fix.
        expect((yield* ask(yield* vendor.model("m"), { tools: [] })).error).toBeDefined()
      }
    }))

  it.scoped("marks what to keep of a prompt for Claude on any server, and for no other model", () =>
    Effect.gen(function*() {
      const mark = { cache_control: { type: "ephemeral" } }
      const calls = (id: string): ReadonlyArray<PromptMessage> => [
        { role: "assistant", content: [{ type: "tool-call", toolCallId: id, toolName: "bash", input: {} }] },
        { role: "tool", content: [{ type: "tool-result", toolCallId: id, toolName: "bash", output }] }
      ]
      const begin: ReadonlyArray<PromptMessage> = [{ role: "system", content: "be good" }, ...request().messages]
      const steps = [begin, [...begin, ...calls("a")], [...begin, ...calls("a"), ...calls("b")]]
      const server = yield* serve((response) => sse(response, ...wire.text("ok"), ...wire.finish("stop")).end())
      const vendor = yield* OpenAiCompatible.make({ id: "openrouter", baseUrl: server.url })
      const sentTo = (modelID: string, messages: ReadonlyArray<PromptMessage>, purpose: "turn" | "title" = "turn") =>
        Effect.gen(function*() {
          const { origin } = request()
          yield* ask(yield* vendor.model(modelID), { messages, origin: { ...origin, purpose } })
          return (JSON.parse(server.seen.at(-1)?.body ?? "") as { messages: ReadonlyArray<unknown> }).messages
        })
      const text = (words: string) => [{ type: "text", text: words, ...mark }]
      const claude = yield* Effect.forEach(steps, (messages) => sentTo("anthropic/claude-sonnet-5-5", messages))
      const system = { role: "system", content: text("be good") }
      const asked = { role: "user", content: text("hello") }
      const result = (id: string, marked = mark) => ({
        role: "tool",
        tool_call_id: id,
        content: "a.txt",
        ...marked
      })
      expect(claude[0]).toEqual([system, asked])
      expect(claude[1]).toMatchObject([system, asked, { role: "assistant" }, result("a")])
      expect(claude[2]).toMatchObject([
        system,
        { role: "user", content: "hello" },
        { role: "assistant" },
        result("a"),
        { role: "assistant" },
        result("b")
      ])
      for (const messages of steps) {
        expect(JSON.stringify(yield* sentTo("openai/gpt-6-sol", messages))).not.toContain("cache_control")
        expect(JSON.stringify(yield* sentTo("anthropic/claude-sonnet-5-5", messages, "title"))).not.toContain("cache_")
      }
    }))

  it.scoped("takes the cost that a server reports, and the tokens that it read from its cache", () =>
    Effect.gen(function*() {
      const finishOf = (usage: object) =>
        Effect.gen(function*() {
          const server = yield* serve((response) =>
            sse(
              response,
              ...wire.text("ok"),
              ...wire.finish("stop", { prompt_tokens: 100, completion_tokens: 9, ...usage })
            )
              .end()
          )
          const vendor = yield* OpenAiCompatible.make({ id: "corp", baseUrl: server.url })
          return (yield* ask(yield* vendor.model("m"))).events.at(-1)
        })
      const read = { cacheRead: 64 }
      expect(yield* finishOf({ cost: 0.00125 })).toMatchObject({ cost: "0.00125" })
      expect(yield* finishOf({ cost: 1.2e-7 })).toMatchObject({ cost: "0.00000012" })
      expect(yield* finishOf({ cost: 0 })).toMatchObject({ cost: "0" })
      expect(yield* finishOf({ cost: 0.1, is_byok: true, cost_details: { upstream_inference_cost: 0.2 } }))
        .toMatchObject({ cost: "0.3" })
      expect(yield* finishOf({ cost: { total_cost: 0.5 } })).toMatchObject({ cost: "0.5" })
      expect(yield* finishOf({ cost_in_usd_ticks: 318_319_000 })).toMatchObject({ cost: "0.0318319" })
      for (const cost of [-1, "free", null, {}]) expect(yield* finishOf({ cost })).not.toHaveProperty("cost")
      expect(yield* finishOf({ prompt_cache_hit_tokens: 64 })).toMatchObject({ tokens: read })
      expect(yield* finishOf({ cached_tokens: 64 })).toMatchObject({ tokens: read })
    }))

  it.scoped("P15: gives an id to a call without one", () =>
    Effect.gen(function*() {
      for (const id of [undefined, ""]) {
        const server = yield* serve((response) =>
          sse(
            response,
            {
              id: "c",
              choices: [{
                index: 0,
                delta: { tool_calls: [{ index: 0, id, function: { name: "bash", arguments: "{}" } }] }
              }]
            },
            ...wire.finish("tool_calls")
          ).end()
        )
        const vendor = yield* OpenAiCompatible.make({ id: "corp", baseUrl: server.url })
        const [call] = callsOf(yield* ask(yield* vendor.model("m")))
        expect(call?.id).toMatch(/^\S+$/)
      }
    }))

  it.scoped("converts ids for a strict server, the same for call and result", () =>
    Effect.gen(function*() {
      const server = yield* serve((response) => response.writeHead(400).end())
      const vendor = yield* OpenAiCompatible.make({ id: "corp", baseUrl: server.url, shortCallIDs: true })
      yield* ask(yield* vendor.model("m"), {
        messages: [
          {
            role: "assistant",
            content: [
              { type: "tool-call", toolCallId: "call_from_elsewhere", toolName: "bash", input: {} },
              { type: "tool-call", toolCallId: "abcDEF123", toolName: "bash", input: {} }
            ]
          },
          {
            role: "tool",
            content: [
              {
                type: "tool-result",
                toolCallId: "call_from_elsewhere",
                toolName: "bash",
                output: { type: "text", value: "1" }
              },
              { type: "tool-result", toolCallId: "abcDEF123", toolName: "bash", output: { type: "text", value: "2" } }
            ]
          }
        ]
      })
      const { messages } = JSON.parse(server.seen[0]?.body ?? "")
      const ids: ReadonlyArray<string> = messages[0].tool_calls.map((call: { id: string }) => call.id)
      expect(ids[0]).toMatch(/^[a-zA-Z0-9]{9}$/)
      expect(ids[1]).toBe("abcDEF123")
      expect(messages.slice(1).map((message: { tool_call_id: string }) => message.tool_call_id)).toEqual(ids)
    }))

  it.scoped("sends nothing without a key if keyName is set", () =>
    Effect.gen(function*() {
      const vendor = yield* OpenAiCompatible.make({ id: "corp", baseUrl: "http://127.0.0.1:1/v1", keyName: "CORP_KEY" })
      expect(vendor.available).toBe(false)
      const error = yield* Effect.flip(vendor.model("m"))
      expect(error).toMatchObject({ reason: "no_key", model: "corp/m" })
      expect(error.message).toContain("CORP_KEY")
    }))

  it.scoped("sends images and text files", () =>
    Effect.gen(function*() {
      const server = yield* serve((response) => response.writeHead(400).end())
      const vendor = yield* OpenAiCompatible.make({ id: "corp", baseUrl: server.url })
      const base64 = Buffer.from("grün").toString("base64")
      yield* ask(yield* vendor.model("m"), {
        messages: [{
          role: "user",
          content: [
            { type: "text", text: "see" },
            { type: "file", data: "data:image/png;base64,iVBORw0KGgo=", mediaType: "image/png" },
            { type: "file", data: "https://example.test/a.png", mediaType: "image/png" },
            { type: "file", data: base64, mediaType: "text/x-lua", filename: "a.lua" },
            { type: "file", data: "data:application/json,%7B%22a%22%3A1%7D", mediaType: "application/json" }
          ]
        }]
      })
      const { messages: [{ content }] } = JSON.parse(server.seen[0]?.body ?? "")
      expect(content).toEqual([
        { type: "text", text: "see" },
        { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } },
        { type: "image_url", image_url: { url: "https://example.test/a.png" } },
        { type: "text", text: "a.lua:\ngrün" },
        { type: "text", text: "file:\n{\"a\":1}" }
      ])
    }))

  it.scoped("refuses unsupported files before sending anything", () =>
    Effect.gen(function*() {
      const server = yield* serve((response) => response.writeHead(400).end())
      const vendor = yield* OpenAiCompatible.make({ id: "corp", baseUrl: server.url })
      const model = yield* vendor.model("m")
      const send = (data: string, mediaType: string) =>
        ask(model, { messages: [{ role: "user", content: [{ type: "file", data, mediaType }] }] })
      for (const mediaType of ["audio/ogg", "application/zip"]) {
        const { error, events } = yield* send("AAAA", mediaType)
        expect(error).toMatchObject({ reason: "invalid_request", retryable: false })
        expect(error?.message).toContain(mediaType)
        expect(events).toEqual([])
      }
      expect((yield* send("https://example.test/a.pdf", "application/pdf")).error?.message).toContain("only the file")
      expect((yield* send("data:text/plain,%E0", "text/plain")).error?.reason).toBe("invalid_request")
      expect(server.seen).toEqual([])
      yield* send("AAAA", "application/pdf")
      yield* send("AAAA", "audio/mpeg")
      yield* send("https://example.test/a.txt", "text/plain")
      expect(server.seen.map(({ body }) => JSON.parse(body).messages[0].content[0])).toEqual([
        { type: "file", file: { filename: "document.pdf", file_data: "data:application/pdf;base64,AAAA" } },
        { type: "input_audio", input_audio: { data: "AAAA", format: "mp3" } },
        { type: "text", text: "https://example.test/a.txt" }
      ])
    }))

  it.scoped("sends reasoning back only to the provider that wrote it", () =>
    Effect.gen(function*() {
      const server = yield* serve((response) => response.writeHead(400).end())
      const vendor = yield* OpenAiCompatible.make({ id: "corp", baseUrl: server.url })
      yield* ask(yield* vendor.model("m"), {
        messages: [{
          role: "assistant",
          content: [
            { type: "reasoning", text: "mine", providerOptions: { corp: {} } },
            { type: "reasoning", text: "theirs", providerOptions: { openai: { itemId: "i" } } },
            { type: "text", text: "so" }
          ]
        }]
      })
      expect(JSON.parse(server.seen[0]?.body ?? "").messages).toEqual([
        { role: "assistant", content: "so", reasoning_content: "mine" }
      ])
    }))

  it.scoped("sends the whole conversation each time, and no tool fields without tools", () =>
    Effect.gen(function*() {
      const server = yield* serve((response) => response.writeHead(400).end())
      const vendor = yield* OpenAiCompatible.make({ id: "corp", baseUrl: server.url, headers: { "X-Team": "é" } })
      const model = yield* vendor.model("m")
      const { messages: first, tools } = request()
      const next = [
        ...first,
        { role: "tool", content: [] },
        { role: "assistant", content: [{ type: "text", text: "hi" }] },
        { role: "user", content: [{ type: "text", text: "go on" }] }
      ] as const
      yield* ask(model, { messages: first, tools })
      yield* ask(model, { messages: next, tools, toolChoice: "none", topP: 0.5, variant: "high" })
      yield* ask(model, { messages: next, tools: [] })
      const [one, two, three] = server.seen.map(({ body }) => JSON.parse(body))
      const common = { model: "m", stream: true, stream_options: { include_usage: true } }
      const said = [
        { role: "user", content: "hello" },
        { role: "assistant", content: "hi" },
        { role: "user", content: "go on" }
      ]
      expect(one).toEqual({ ...common, messages: said.slice(0, 1), tools: two.tools, tool_choice: "auto" })
      expect(two).toEqual({
        ...common,
        top_p: 0.5,
        reasoning_effort: "high",
        messages: said,
        tools: [{
          type: "function",
          function: { name: "bash", description: "Runs a command", parameters: { type: "object", properties: {} } }
        }],
        tool_choice: "none"
      })
      expect(three).toEqual({ ...common, messages: said })
    }))

  it.scoped("accepts a base URL with a trailing slash and a query", () =>
    Effect.gen(function*() {
      const server = yield* serve((response) => response.writeHead(400).end())
      const vendor = yield* OpenAiCompatible.make({ id: "corp", baseUrl: `${server.url}//?version=1` })
      yield* ask(yield* vendor.model("m"))
      expect(server.seen[0]?.url).toBe("/v1/chat/completions?version=1")
    }))

  it.scoped("refuses an invalid header", () =>
    Effect.gen(function*() {
      const vendor = yield* OpenAiCompatible.make({ id: "corp", baseUrl: "http://127.0.0.1:1", headers: { a: "b\nc" } })
      const error = yield* Effect.flip(vendor.model("m"))
      expect(error).toMatchObject({ _tag: "ModelUnavailable", reason: "bad_config" })
      expect(error.message).toContain("The header a of the provider corp holds a character that no header may have")
    }))

  it.scoped("ends the answer at its end marker even if the server keeps the socket open", () =>
    Effect.gen(function*() {
      const more = (response: ServerResponse) => {
        if (!response.destroyed) response.write(": more\n\n", () => setImmediate(more, response))
      }
      for (const after of [() => {}, more]) {
        const server = yield* serve((response) =>
          after(sse(response, ...wire.text("ok"), ...wire.finish("stop"), "data: [DONE]\n\n"))
        )
        const vendor = yield* OpenAiCompatible.make({ id: "corp", baseUrl: server.url })
        const asked = yield* ask(yield* vendor.model("m"))
        expect(asked.error).toBeUndefined()
        expect(asked.events.filter(({ type }) => type === "finish")).toHaveLength(1)
        yield* server.closed
      }
    }))

  it.scoped("reuses the socket if the stream ends shortly after the answer", () =>
    Effect.gen(function*() {
      const ports = new Set<number | undefined>()
      const open: Array<ServerResponse> = []
      const server = yield* serve((response) => {
        ports.add(response.socket?.remotePort)
        open.push(sse(response, ...wire.text("ok"), ...wire.finish("stop"), "data: [DONE]\n\n"))
      })
      const vendor = yield* OpenAiCompatible.make({ id: "corp", baseUrl: server.url })
      const model = yield* vendor.model("m")
      for (let count = 0; count < 3; count++) {
        yield* model.stream(request(), ({ type }) => {
          if (type === "finish") open.pop()?.end()
        })
      }
      expect(ports.size).toBe(1)
    }))

  it.scoped("reports the part of a truncated refusal that arrived", () =>
    Effect.gen(function*() {
      const server = yield* serve((response) => {
        // Half a body, then the end of the connection. A reset could overtake what was written.
        response.writeHead(429, { "retry-after": "3", "content-length": "100" }).write("slow down")
        response.socket?.end()
      })
      const vendor = yield* OpenAiCompatible.make({ id: "corp", baseUrl: server.url })
      const { error } = yield* ask(yield* vendor.model("m"))
      expect(error).toMatchObject({ reason: "rate_limit", status: 429, retryAfter: 3_000 })
    }))

  it.scoped("classifies an error chunk without choices by its content", () =>
    Effect.gen(function*() {
      const server = yield* serve((response) =>
        sse(response, { object: "error", message: "maximum context length is 10", code: 400 }).end()
      )
      const vendor = yield* OpenAiCompatible.make({ id: "corp", baseUrl: server.url })
      const { error } = yield* ask(yield* vendor.model("m"))
      expect(error).toMatchObject({ reason: "context_overflow", retryable: false })
    }))

  it.scoped("closes pooled sockets with the scope", () =>
    Effect.gen(function*() {
      const gone = yield* Deferred.make<void>()
      const server = yield* serve((response) => sse(response, ...wire.text("ok"), ...wire.finish("stop")).end())
      server.server.keepAliveTimeout = 0
      server.server.on("connection", (socket) => socket.on("close", () => Deferred.unsafeDone(gone, Effect.void)))
      yield* Effect.scoped(Effect.gen(function*() {
        const vendor = yield* OpenAiCompatible.make({ id: "corp", baseUrl: server.url })
        yield* ask(yield* vendor.model("m"))
        expect(yield* Deferred.isDone(gone)).toBe(false)
      }))
      yield* Deferred.await(gone)
    }))

  it.scoped("P04: redacts secrets in configured headers from messages", () =>
    Effect.gen(function*() {
      const server = yield* serve((response, _number, seen) =>
        response.writeHead(400).end(`no ${String(seen.headers["x-auth"])}`)
      )
      const vendor = yield* OpenAiCompatible.make({
        id: "corp",
        baseUrl: server.url,
        headers: { "x-auth": "tok en-abcdef" }
      })
      const { error } = yield* ask(yield* vendor.model("m"))
      expect(server.seen[0]?.headers["x-auth"]).toBe("tok en-abcdef")
      expect(error?.message).toContain("no [redacted]")
    }))
})
