// @ts-check
// `npm run bench:editor`: how much later an editor gets the first update of its prompt, over standard input and output of the
// built program, than a program with the services in-process gets its first event. Both in turn, `--rounds 50`.
import { Provider } from "@skein/core/Provider"
import { Session } from "@skein/core/Session"
import * as Skein from "@skein/core/Skein"
import { survey } from "@skein/offline/Survey"
import * as Sqlite from "@skein/storage/Sqlite"
import * as Effect from "effect/Effect"
import { spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { parseArgs } from "node:util"
import { root } from "../layout.mjs"
import { firstEvent } from "./firstEvent.mjs"
import { median } from "./median.mjs"

const { values } = parseArgs({ options: { rounds: { type: "string", default: "50" } } })

/** The built program, and a session of it. @param {string} home */
const editor = async (home) => {
  const project = join(home, "project")
  mkdirSync(project)
  const child = spawn(process.execPath, [join(root, "packages", "cli", "bin", "skein.js"), "acp"], {
    cwd: project,
    env: { PATH: process.env["PATH"], HOME: home, XDG_DATA_HOME: home, XDG_CONFIG_HOME: home },
    stdio: ["pipe", "pipe", "inherit"]
  })
  /** @type {(frame: { id?: number, method?: string, result?: { sessionId?: string } }) => void} */
  let hear = () => undefined
  createInterface({ input: child.stdout }).on("line", (line) => hear(JSON.parse(line)))
  let last = 0
  /** @param {string} method @param {object} params */
  const request = (method, params) => {
    const id = ++last
    let first = 0
    const began = performance.now()
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`)
    return /** @type {Promise<{ took: number, sessionId: string }>} */ (new Promise((resolve) =>
      hear = (frame) => {
        if (frame.method === "session/update") first ||= performance.now()
        if (frame.id === id) resolve({ took: first - began, sessionId: frame.result?.sessionId ?? "" })
      }
    ))
  }
  await request("initialize", { protocolVersion: 1, clientCapabilities: {} })
  const { sessionId } = await request("session/new", { cwd: project, mcpServers: [] })
  return {
    once: () => request("session/prompt", { sessionId, prompt: [{ type: "text", text: "Go" }] }),
    close: () => {
      const closed = new Promise((resolve) => child.once("close", resolve))
      child.stdin.end()
      return closed
    }
  }
}

const home = mkdtempSync(join(tmpdir(), "skein-bench-editor-"))
const services = Skein.layer({
  provider: Provider.layerModels([survey]),
  storage: Sqlite.layer({ filename: join(home, "near.db") })
})

const measuring = Effect.gen(function*() {
  const session = yield* Session
  const near = yield* session.create({ directory: home })
  const far = yield* Effect.promise(() => editor(home))
  /** @type {{ near: Array<number>, far: Array<number> }} */
  const took = { near: [], far: [] }
  for (let round = 0; round < Number(values.rounds); round++) {
    took.near.push(yield* firstEvent(near.id))
    took.far.push((yield* Effect.promise(far.once)).took)
  }
  yield* Effect.promise(far.close)
  return took
})

const took = await Effect.runPromise(Effect.ensuring(
  Effect.provide(measuring, services),
  Effect.sync(() => rmSync(home, { recursive: true, force: true }))
))
const [near, far] = [median(took.near), median(took.far)]
const more = far - near
console.log(
  `${more <= 20 ? "ok  " : "MISS"} prompt to first update of an editor: ${far.toFixed(2)} ms, `
    + `${more.toFixed(2)} ms more than in-process (at most 20 ms)`
)
process.exitCode = more <= 20 ? 0 : 1
