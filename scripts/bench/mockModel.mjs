// @ts-check
// The mock model: an HTTP server that speaks OpenAI's chat completions and keeps a log of what it was asked. Run as a
// process of its own, with {"project": directory, "latency": ms} as its argument; prints {"port": n} once it listens.
import http from "node:http"
import { answer } from "./conversation.mjs"

/**
 * @typedef {{ readonly text?: string, readonly content?: unknown }} Piece
 * @typedef {{ readonly role: string, readonly content?: unknown, readonly tool_calls?: ReadonlyArray<unknown> }} Message
 * @typedef {{
 *   readonly model?: string,
 *   readonly stream?: boolean,
 *   readonly tools?: ReadonlyArray<unknown>,
 *   readonly messages?: ReadonlyArray<Message>
 * }} Body
 * @typedef {{
 *   readonly kind: import("./conversation.mjs").Kind | "other",
 *   readonly conversation: string,
 *   readonly round?: number | undefined,
 *   readonly ok?: number | undefined,
 *   readonly seen?: number | undefined,
 *   readonly turns: number,
 *   readonly start: number,
 *   end: number
 * }} Entry one request: times in milliseconds since the epoch, `turns` how many messages it brought
 * @typedef {{ readonly entries: ReadonlyArray<Entry>, readonly mostOpen: number }} Log
 */

const now = () => performance.timeOrigin + performance.now()

/** @param {unknown} content @returns {string} */
const flat = (content) =>
  typeof content === "string"
    ? content
    : Array.isArray(content)
    ? content.map((/** @type {Piece} */ piece) => flat(piece.text ?? piece.content ?? "")).join("\n")
    : ""

/** @param {Body} body @returns {import("./conversation.mjs").Conversation} */
const conversationOf = ({ messages = [], tools = [] }) => {
  const isSystem = (/** @type {Message} */ message) => message.role === "system" || message.role === "developer"
  return {
    tools: tools.length,
    system: messages.filter(isSystem).map((message) => flat(message.content)).join(""),
    turns: messages.filter((message) => !isSystem(message)).map((message) => ({
      role: message.role,
      text: flat(message.content),
      calls: message.tool_calls?.length ?? 0
    }))
  }
}

/** @param {string} text @param {number} pieces */
const split = (text, pieces) =>
  pieces <= 1 ? [text] : [...Array.from({ length: pieces - 1 }, (_, piece) => `word${piece} `), text]

/**
 * The frames of a streamed response.
 * @param {number} id
 * @param {import("./conversation.mjs").Answer} given
 * @param {Body} body
 */
const frames = (id, { calls = [], pieces = 1, text = "" }, { messages = [], model = "m" }) => {
  const prompt_tokens = 100 + 10 * messages.length
  const base = { id: `chatcmpl-${id}`, created: 1700000000, model, object: "chat.completion.chunk" }
  /** @param {unknown} data */
  const frame = (data) => `data: ${JSON.stringify(data)}\n\n`
  /** @param {object} delta @param {string | null} finish_reason */
  const chunk = (delta, finish_reason = null) => frame({ ...base, choices: [{ index: 0, delta, finish_reason }] })
  return [
    chunk({ role: "assistant", content: "" }),
    ...(text === "" ? [] : split(text, pieces).map((content) => chunk({ content }))),
    ...calls.map(({ args, name }, index) =>
      chunk({
        tool_calls: [{ index, id: `call_${id}_${index}`, type: "function", function: { name, arguments: "" } }]
      })
      + chunk({ tool_calls: [{ index, function: { arguments: JSON.stringify(args) } }] })
    ),
    chunk({}, calls.length > 0 ? "tool_calls" : "stop")
    + frame({
      ...base,
      choices: [],
      usage: { prompt_tokens, completion_tokens: 10, total_tokens: prompt_tokens + 10 }
    })
    + "data: [DONE]\n\n"
  ]
}

/** @param {{ readonly project: string, readonly latency: number }} config */
const mockModel = ({ latency, project }) => {
  /** @type {Array<Entry>} */
  const entries = []
  let open = 0
  let mostOpen = 0

  /** @param {http.ServerResponse} response @param {unknown} body @param {number} status */
  const json = (response, body, status = 200) => {
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
  }

  return http.createServer({ keepAliveTimeout: 60_000 }, async (request, response) => {
    const start = now()
    const received = []
    for await (const bytes of request) received.push(bytes)
    if (request.url === "/log") return json(response, { entries, mostOpen })
    if (request.url?.endsWith("/chat/completions") !== true) {
      entries.push({ kind: "other", conversation: "other", turns: 0, start, end: now() })
      return json(response, { error: { message: `nothing is served at ${request.url}` } }, 404)
    }
    /** @type {Body} */
    const body = JSON.parse(Buffer.concat(received).toString())
    if (body.stream !== true) return json(response, { error: { message: "the mock model only streams" } }, 400)
    const conversation = conversationOf(body)
    const given = answer(conversation, project)
    const { conversation: name, kind, ok, round, seen } = given
    /** @type {Entry} */
    const entry = { kind, conversation: name, round, ok, seen, turns: conversation.turns.length, start, end: 0 }
    const id = entries.push(entry)
    mostOpen = Math.max(mostOpen, ++open)
    const out = frames(id, given, body)
    if (latency > 0) await new Promise((resume) => setTimeout(resume, latency))
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" })
    // Many pieces are worth measuring only when they arrive one by one.
    for (const piece of (given.pieces ?? 1) > 1 ? out : [out.join("")]) response.write(piece)
    response.end()
    entry.end = now()
    open--
  })
}

const server = mockModel(JSON.parse(process.argv[2] ?? "{}"))
server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, () => {
  const address = server.address()
  console.log(JSON.stringify({ port: typeof address === "object" ? address?.port : undefined }))
})
// It must not outlive the benchmark, however that ends.
process.on("disconnect", () => process.exit())
