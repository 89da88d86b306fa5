/** A server with the Chat Completions API that answers with a function of the request, and records everything. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

/** A message as received. */
interface WireMessage {
  readonly role: "system" | "user" | "assistant" | "tool"
  readonly content?: unknown
  readonly tool_calls?: ReadonlyArray<{ readonly id: string; readonly function: { readonly name: string } }>
  readonly tool_call_id?: string
}

/** One request. */
export interface LlmRequest {
  readonly messages: ReadonlyArray<WireMessage>
  readonly tools: ReadonlyArray<string>
  /** The requested model. */
  readonly model: string
  /** The text of the last message. */
  readonly last: string
  /** The texts of the messages of the user, in order. */
  readonly user: ReadonlyArray<string>
  /** A rough token count of its messages and tools. */
  readonly tokens: number
  /** The maximum tokens of the answer; undefined if the request has none. */
  readonly maxTokens: number | undefined
  readonly headers: IncomingMessage["headers"]
}

/** The answer of the model. */
export interface LlmAnswer {
  readonly text?: string
  /** Deltas before the text, as sent. */
  readonly deltas?: ReadonlyArray<unknown>
  /** `json` are the arguments as sent, if `args` cannot express them. */
  readonly calls?: ReadonlyArray<{ readonly tool: string; readonly args?: unknown; readonly json?: string }>
  /**
   * The reported usage; 100 and 10 by default. An answer that is longer than the request allows is cut there, as a
   * provider does: its text ends in the middle, its calls are missing, and it finishes with `length`.
   */
  readonly tokens?: { readonly input?: number; readonly output?: number }
  /** The answer begins and never ends. */
  readonly hangs?: boolean
  /** An error instead of an answer, and its message. */
  readonly status?: number
  readonly message?: string
  /** The finish reason; by default because of its calls, or because it was done. */
  readonly finish?: string
  /** The connection breaks after the text. */
  readonly breaks?: boolean
}

/** The answer to a request, immediate or delayed. */
export type Script = (request: LlmRequest) => LlmAnswer | string | Promise<LlmAnswer | string>

/** The server. */
export interface Llm {
  readonly url: string
  readonly requests: ReadonlyArray<LlmRequest>
  /** The number of answers in progress, and of connections closed before their answer was complete. */
  readonly open: () => number
  readonly cut: () => number
  /** Resolves after this many requests. */
  readonly asked: (count: number) => Promise<void>
  /** Resolves when a connection was closed before its answer was complete. */
  readonly wasCut: Promise<void>
  readonly close: () => Promise<void>
}

const textOf = (content: unknown): string =>
  typeof content === "string"
    ? content
    : Array.isArray(content)
    ? content.map((part: { readonly text?: string }) => part.text ?? "").join("\n")
    : ""

const read = async (request: IncomingMessage): Promise<LlmRequest> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as {
    readonly messages: ReadonlyArray<WireMessage>
    readonly model: string
    readonly tools?: ReadonlyArray<{ readonly function: { readonly name: string } }>
    readonly max_tokens?: number
    readonly max_completion_tokens?: number
  }
  return {
    messages: body.messages,
    model: body.model,
    tools: (body.tools ?? []).map((tool) => tool.function.name),
    last: textOf(body.messages.at(-1)?.content),
    user: body.messages.filter(({ role }) => role === "user").map(({ content }) => textOf(content)),
    tokens: Math.ceil(JSON.stringify([body.messages, body.tools ?? []]).length / 4),
    maxTokens: body.max_completion_tokens ?? body.max_tokens,
    headers: request.headers
  }
}

/** What a strict provider refuses about a conversation: blank texts, blank results, and calls without their results. */
const faultIn = ({ messages }: LlmRequest): string | undefined => {
  let open: ReadonlyArray<string> = []
  for (const [at, { content, role, tool_call_id: id, tool_calls: calls = [] }] of messages.entries()) {
    const parts: ReadonlyArray<{ readonly type?: string; readonly text?: string }> = Array.isArray(content)
      ? content
      : typeof content === "string"
      ? [{ type: "text", text: content }]
      : []
    const isBlank = parts.some(({ text, type }) => type === "text" && (text ?? "").trim() === "")
    if (isBlank || (parts.length === 0 && calls.length === 0)) {
      return `messages.${at}: text content blocks must contain non-whitespace text`
    }
    if (role === "tool") {
      if (id !== open[0]) return `messages.${at}: the result ${id} has no call before it`
      open = open.slice(1)
      continue
    }
    if (open.length > 0) return `messages.${at}: the calls ${open.join()} have no results`
    open = calls.map((call) => call.id)
    if (new Set(open).size < open.length) return `messages.${at}: two calls have one id`
  }
  return open.length > 0 ? `the calls ${open.join()} have no results` : undefined
}

const base = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "m" }

const event = (delta: unknown, finish: string | null = null) =>
  `data: ${JSON.stringify({ ...base, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`

/** The rest of an answer that is longer than its request allows. */
const capped = (answer: LlmAnswer, cap: number | undefined): LlmAnswer => {
  const { calls: _, text, tokens, ...rest } = answer
  const output = tokens?.output ?? 0
  if (cap === undefined || output <= cap) return answer
  return {
    ...rest,
    ...(text === undefined ? {} : { text: text.slice(0, Math.floor(text.length * cap / output)) }),
    tokens: { ...tokens, output: cap },
    finish: "length"
  }
}

const say = (response: ServerResponse, answer: LlmAnswer, cap?: number) => {
  const { breaks, calls = [], deltas = [], finish, hangs, message, status, text, tokens } = capped(answer, cap)
  if (status !== undefined) {
    response.writeHead(status, { "content-type": "application/json" })
    response.end(JSON.stringify({ error: { message: message ?? `scripted ${status}`, type: "scripted", code: null } }))
    return
  }
  response.writeHead(200, { "content-type": "text/event-stream" })
  response.write(event({ role: "assistant", content: "" }))
  for (const delta of deltas) response.write(event(delta))
  if (text !== undefined) {
    for (const piece of text.match(/[^]{1,4096}/g) ?? []) response.write(event({ content: piece }))
  }
  if (hangs === true) return
  if (breaks === true) {
    // Flushes what was written.
    response.write(": over\n\n", () => response.destroy())
    return
  }
  calls.forEach(({ args, json, tool }, index) =>
    response.write(event({
      tool_calls: [{
        index,
        id: `call_${index}`,
        type: "function",
        function: { name: tool, arguments: json ?? JSON.stringify(args) }
      }]
    }))
  )
  response.write(event({}, finish ?? (calls.length > 0 ? "tool_calls" : "stop")))
  const { input, output } = { input: 100, output: 10, ...tokens }
  const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
  response.write(`data: ${JSON.stringify({ ...base, choices: [], usage })}\n\n`)
  response.end("data: [DONE]\n\n")
}

/** Starts a server; requests for a title are answered automatically. */
export const startLlm = async (script: Script): Promise<Llm> => {
  const requests: Array<LlmRequest> = []
  const waiting: Array<{ readonly count: number; readonly resolve: () => void }> = []
  let open = 0
  let cut = 0
  let tellCut = () => {}
  const wasCut = new Promise<void>((resolve) => tellCut = resolve)
  const server = createServer(async (request, response) => {
    open++
    response.once("close", () => {
      open--
      if (response.writableFinished) return
      cut++
      tellCut()
    })
    const asked = await read(request)
    if (/title/i.test(textOf(asked.messages[0]?.content)) && asked.tools.length === 0) {
      return say(response, { text: "A title" })
    }
    requests.push(asked)
    for (const each of waiting) if (requests.length >= each.count) each.resolve()
    const fault = faultIn(asked)
    if (fault !== undefined) return say(response, { status: 400, message: fault })
    const answer = await script(asked)
    say(response, typeof answer === "string" ? { text: answer } : answer, asked.maxTokens)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    open: () => open,
    cut: () => cut,
    asked: (count) =>
      new Promise((resolve) => requests.length >= count ? resolve() : void waiting.push({ count, resolve })),
    wasCut,
    close: () => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    }
  }
}
