// @ts-check
// Compiles the bundled program ahead for packages/cli/bin/skein.js: runs it once, on a prompt that this process answers
// itself, and leaves what V8 has compiled by then. The file begins with two checksums, of the script and of the code.
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import http from "node:http"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Script } from "node:vm"
import zlib from "node:zlib"
import { bundleScript, codeCache } from "./layout.mjs"

const home = mkdtempSync(join(tmpdir(), "skein-build-"))
const source = readFileSync(bundleScript)
const script = new Script(source.toString("latin1"), { filename: bundleScript })

process.on("exit", (exitCode) => {
  process.chdir(tmpdir())
  rmSync(home, { recursive: true, force: true })
  if (exitCode !== 0) return
  const code = script.createCachedData()
  const head = Buffer.alloc(8)
  head.writeUInt32LE(zlib.crc32(source), 0)
  head.writeUInt32LE(zlib.crc32(code), 4)
  // At once, so that no program that starts meanwhile finds a part of it.
  writeFileSync(`${codeCache}.new`, Buffer.concat([head, code]))
  renameSync(`${codeCache}.new`, codeCache)
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
  script.runInThisContext()(createRequire(bundleScript), (/** @type {string} */ specifier) => import(specifier))
})
