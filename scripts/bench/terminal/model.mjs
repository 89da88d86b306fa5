// @ts-check
// The model of the terminal's benchmark, as a process of its own: the first word of the last prompt says what it does.
//   PING                 answers at once
//   FLOCK n              n calls of `task`, prompted STREAM
//   STREAM               20 deltas a second, until the connection is closed
//   LONG n               n deltas of 20 characters, as fast as they are taken
// Prints its port. GET answers with how many deltas of STREAM it has sent.
import { createServer } from "node:http"

const pace = 50

/** @param {unknown} content @returns {string} */
const flat = (content) =>
  typeof content === "string" ? content : Array.isArray(content) ? content.map(({ text = "" }) => text).join("\n") : ""

/** @param {unknown} delta @param {string | null} finish */
const frame = (delta, finish = null) =>
  `data: ${
    JSON.stringify({
      id: "c",
      object: "chat.completion.chunk",
      created: 1,
      model: "m",
      choices: [{ index: 0, delta, finish_reason: finish }]
    })
  }\n\n`

const usage = `data: ${
  JSON.stringify({
    id: "c",
    object: "chat.completion.chunk",
    created: 1,
    model: "m",
    choices: [],
    usage: { prompt_tokens: 9, completion_tokens: 9, total_tokens: 18 }
  })
}\n\ndata: [DONE]\n\n`

let sent = 0

const server = createServer(async (request, response) => {
  if (request.method === "GET") return response.end(String(sent))
  let body = ""
  for await (const chunk of request) body += chunk
  const { messages = [], tools = [] } = JSON.parse(body)
  const said = flat(messages.findLast((/** @type {{ role: string }} */ { role }) => role === "user")?.content)
  const isResult = messages.at(-1)?.role === "tool"
  const [, kind = "PING", count = "1"] = /(PING|FLOCK|STREAM|LONG)(?: (\d+))?/.exec(tools.length === 0 ? "" : said) ??
    []
  response.writeHead(200, { "content-type": "text/event-stream" })
  const end = (/** @type {string} */ finish) => response.end(frame({}, finish) + usage)
  response.write(frame({ role: "assistant", content: "" }))
  if (kind === "FLOCK" && !isResult) {
    const calls = Array.from({ length: Number(count) }, (_, index) => ({
      index,
      id: `call_${index}`,
      type: "function",
      function: {
        name: "task",
        arguments: JSON.stringify({ description: `Work ${index}`, prompt: `STREAM ${index}`, subagent_type: "general" })
      }
    }))
    response.write(frame({ tool_calls: calls }))
    return end("tool_calls")
  }
  if (kind === "STREAM") {
    let at = 0
    const timer = setInterval(() => {
      sent++
      response.write(frame({ content: at++ % 20 === 19 ? "word\n" : "word " }))
    }, pace)
    return response.on("close", () => clearInterval(timer))
  }
  if (kind === "LONG") {
    for (let at = 0; at < Number(count); at++) {
      const isFull = !response.write(
        frame({ content: at % 5 === 4 ? "nineteen characters\n" : "nineteen characters " })
      )
      if (isFull) await new Promise((resolve) => response.once("drain", resolve))
    }
    response.write(frame({ content: `\nLONG DONE ${messages.length}` }))
    return end("stop")
  }
  response.write(frame({ content: "PONG" }))
  end("stop")
})
server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  console.log(typeof address === "object" && address !== null ? address.port : 0)
})
