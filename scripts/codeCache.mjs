// @ts-check
// Compiles the bundled program ahead for packages/cli/bin/skein.js: runs it once, on a prompt that this process answers
// itself, and leaves what V8 has compiled by then. packages/cli/bin/compiled.js says how the file is laid out.
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import http from "node:http"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Script } from "node:vm"
import { writeCode } from "../packages/cli/bin/compiled.js"
import { bundleScript, codeCache } from "./layout.mjs"

const home = mkdtempSync(join(tmpdir(), "skein-build-"))
const source = readFileSync(bundleScript)
const script = new Script(source.toString("latin1"), { filename: bundleScript })

process.on("exit", (exitCode) => {
  process.chdir(tmpdir())
  rmSync(home, { recursive: true, force: true })
  if (exitCode !== 0) return
  writeCode(script, source, codeCache)
})

const delta = { choices: [{ index: 0, delta: { role: "assistant", content: "ok" }, finish_reason: "stop" }] }
const model = http.createServer((_, response) => {
  response.writeHead(200, { "content-type": "text/event-stream" })
  response.end(`data: ${JSON.stringify(delta)}\n\ndata: [DONE]\n\n`)
})

model.listen(0, "127.0.0.1", () => {
  const address = model.address()
  const port = typeof address === "object" ? address?.port : undefined
  for (const name of Object.keys(process.env)) if (/^(SKEIN|XDG|OPENAI)_/.test(name)) delete process.env[name]
  Object.assign(process.env, { HOME: home, OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`, OPENAI_API_KEY: "none" })
  process.chdir(home)
  process.argv = [process.execPath, "skein", "run", "--model", "openai/none", "--format", "quiet", "ok"]
  script.runInThisContext()(
    createRequire(bundleScript),
    (/** @type {string} */ specifier) => import(specifier),
    () => undefined
  )
})
