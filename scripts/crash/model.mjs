// @ts-check
// The model: a server of OpenAI's Chat Completions that outlives the program under test, with fresh ids on each request.
import { createServer } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import { answer, isSummarised, stepIn, whoIn } from "./script.mjs"
import { faultsIn } from "./wire.mjs"

/** @typedef {import("./script.mjs").Variant} Variant */
/** @typedef {import("./script.mjs").WireMessage} WireMessage */
/** @typedef {{ readonly url: string, readonly faults: ReadonlyArray<string>, readonly release: () => void, readonly close: () => void }} Model */

/** How long a piece of an answer takes (ms). */
const usualPace = 3

/** @param {import("node:http").IncomingMessage} request */
const bodyOf = async (request) => {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  return JSON.parse(Buffer.concat(chunks).toString("utf8"))
}

/**
 * @param {unknown} delta
 * @param {string | null} [finish]
 */
const chunk = (delta, finish = null) =>
  `data: ${
    JSON.stringify({
      id: "c",
      object: "chat.completion.chunk",
      created: 1,
      model: "m",
      choices: [{ index: 0, delta, finish_reason: finish }]
    })
  }\n\n`

/** The pieces of an answer. @param {import("./script.mjs").Answer} said @param {() => string} fresh */
const pieces = ({ calls, text }, fresh) => [
  chunk({ role: "assistant", content: "" }),
  ...(text.match(/[^]{1,24}/g) ?? []).map((content) => chunk({ content })),
  ...calls.flatMap(({ args, tool }, index) => {
    const whole = JSON.stringify(args)
    const half = Math.ceil(whole.length / 2)
    const call = { index, id: fresh(), type: "function", function: { name: tool, arguments: "" } }
    return [
      chunk({ tool_calls: [call] }),
      chunk({ tool_calls: [{ index, function: { arguments: whole.slice(0, half) } }] }),
      chunk({ tool_calls: [{ index, function: { arguments: whole.slice(half) } }] })
    ]
  }),
  chunk({}, calls.length > 0 ? "tool_calls" : "stop"),
  `data: ${
    JSON.stringify({ choices: [], usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 } })
  }\n\n`,
  "data: [DONE]\n\n"
]

/** @param {ReadonlyArray<WireMessage>} messages */
const isCompaction = (messages) => String(messages[0]?.content).includes("replaces a long conversation")

/**
 * Starts one. `say` replaces what the script says; where it says nothing, the answer waits for `release`.
 * @param {Variant} [variant]
 * @param {(messages: ReadonlyArray<WireMessage>, variant: Variant) => import("./script.mjs").Answer | undefined} [say]
 * @param {number} [pace] how long a piece of an answer takes (ms)
 * @returns {Promise<Model>}
 */
export const startModel = async (variant = {}, say = answer, pace = usualPace) => {
  /** @type {Array<string>} */
  const faults = []
  let calls = 0
  let release = () => {}
  const released = new Promise((resolve) => release = () => resolve(undefined))
  const fresh = () => `call_${(calls++).toString(36)}`
  const server = createServer(async (request, response) => {
    // The client may be dead by now.
    response.on("error", () => {})
    const asked = /** @type {{ messages: ReadonlyArray<WireMessage> }} */ (await bodyOf(request).catch(() => undefined))
    if (asked === undefined) return
    const { messages } = asked
    faults.push(...faultsIn(messages))
    const step = stepIn(messages)
    if (variant.compacts === true && whoIn(messages) === "root" && step >= 7 && !isSummarised(messages)) {
      if (!isCompaction(messages)) {
        response.writeHead(413).end("{\"error\":{\"message\":\"too long\",\"code\":\"context_length_exceeded\"}}")
        return
      }
    }
    const said = isCompaction(messages) ? { text: "All was well up to step-6.", calls: [] } : say(messages, variant)
    response.writeHead(200, { "content-type": "text/event-stream" })
    response.flushHeaders()
    if (said === undefined) await released
    const words = said ?? say(messages, variant)
    for (const piece of words === undefined ? [] : pieces(words, fresh)) {
      if (response.destroyed) return
      response.write(piece)
      await sleep(pace)
    }
    response.end()
  })
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)))
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}/v1`,
    faults,
    release,
    close: () => {
      server.closeAllConnections()
      server.close()
    }
  }
}
