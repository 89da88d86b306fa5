// @ts-check
// `npm run bench:bounds`: the peak memory of a run when its model says too much or nobody reads its output.
import { spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pipeline, Readable } from "node:stream"
import { root } from "../layout.mjs"
import { knowsMemory, watchMemory } from "./processTree.mjs"

const target = 300
const program = join(root, "packages", "cli", "bin", "skein.js")

/** @param {object} delta @param {string | null} [finish] */
const event = (delta, finish = null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`

/** @param {number} index @param {string} name @param {string} args */
const call = (index, name, args) =>
  event({ tool_calls: [{ index, id: `call_${index}`, type: "function", function: { name, arguments: args } }] })

/** @param {string} finish */
const end = (finish) => `${event({}, finish)}data: [DONE]\n\n`

const piece = "x".repeat(50_000)

/** How long nobody reads the output of the last case, in milliseconds. */
const unread = 25_000

/** What the model answers, piece by piece. @type {Readonly<Record<string, () => Iterable<string>>>} */
const answers = {
  "10,000 calls of read in one answer": function*() {
    for (let at = 0; at < 10_000; at++) yield call(at, "read", `{"filePath":"file${at}.txt"}`)
    yield end("tool_calls")
  },
  "one line of 50 MB": function*() {
    yield "data: {\"a\":\""
    for (let at = 0; at < 1_000; at++) yield piece
    yield "\"}\n\n"
  },
  "arguments of 20 MB": function*() {
    yield call(0, "write", "{\"content\":\"")
    for (let at = 0; at < 400; at++) yield event({ tool_calls: [{ index: 0, function: { arguments: piece } }] })
    yield end("tool_calls")
  },
  "30 MB of events to an output that is not read for 25 s": function*() {
    // Small pieces of text: the events that report them are many times as long.
    for (let at = 0; at < 100_000; at++) yield event({ content: "0123456789abcdef" })
    yield end("stop")
  }
}

/** @param {() => Iterable<string>} answer */
const startModel = async (answer) => {
  const server = createServer((request, response) => {
    request.resume()
    response.writeHead(200, { "content-type": "text/event-stream" })
    // A run that refuses the answer closes the connection: that is no error here.
    pipeline(Readable.from(answer()), response, () => {})
  })
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)))
  return server
}

/** @param {string} name @param {() => Iterable<string>} answer */
const measure = async (name, answer) => {
  const base = mkdtempSync(join(tmpdir(), "skein-bounds-"))
  const project = join(base, "project")
  mkdirSync(project)
  const model = await startModel(answer)
  const address = /** @type {import("node:net").AddressInfo} */ (model.address())
  const args = ["run", "-m", "openai/m", "--title", "t", "--format", "json", "go"]
  const start = performance.now()
  const child = spawn(process.execPath, [program, ...args], {
    cwd: project,
    env: {
      PATH: process.env["PATH"],
      HOME: base,
      NO_COLOR: "1",
      OPENAI_BASE_URL: `http://127.0.0.1:${address.port}/v1`,
      OPENAI_API_KEY: "x"
    },
    stdio: ["ignore", "pipe", "ignore"]
  })
  const memory = watchMemory(child.pid ?? 0)
  const ended = new Promise((resolve) => child.on("close", resolve))
  setTimeout(() => child.stdout.resume(), name.includes("not read") ? unread : 0)
  const code = await ended
  const most = memory.stop() ?? 0
  model.closeAllConnections()
  model.close()
  rmSync(base, { recursive: true, force: true })
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  process.stdout.write(`${name}: ${most.toFixed(0)} MB (at most ${target}), ${seconds} s, exit code ${code}\n`)
  if (most > target) process.exitCode = 1
}

if (!knowsMemory) {
  process.stderr.write("bench: this system has no /proc, so memory is not measured\n")
  process.exit(1)
}
for (const [name, answer] of Object.entries(answers)) await measure(name, answer)
