// @ts-check
// Measures what of each request stands there only because an agent has tools and rules, and what of it stays the same byte
// for byte, so that a provider can keep it. `npm run bench:prefix` needs no model: a scripted one records what it is sent.
import { spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { bundleEntry, root } from "../layout.mjs"

/** @typedef {{ readonly messages: ReadonlyArray<{ readonly role: string, readonly content: unknown }>, readonly tools?: ReadonlyArray<{ readonly function: { readonly name: string } }> }} Body */
/** @typedef {{ readonly tool: string, readonly args: object }} Call */

/** What must not be exceeded, in tokens of four characters, and the share that must at least stay the same. */
const targets = { root: 3_000, explore: 1_200, general: 1_600, stable: 0.99 }

/** The subagents that the root calls, in its rounds from the second. */
const children = /** @type {const} */ (["explore", "general"])

/** How many rounds of calls the root and its subagent make. */
const rounds = 8

/** @param {number} characters */
const tokens = (characters) => Math.round(characters / 4)

/** @param {string} agent */
const promptOf = (agent) => `Read the files for ${agent} and report what they say.`

/** The agent that sent a request, by its first prompt. @param {Body} body */
const agentOf = ({ messages }) => {
  const first = JSON.stringify(messages.find(({ role }) => role === "user"))
  return children.find((agent) => first.includes(promptOf(agent))) ?? "root"
}

/** The round that a request belongs to: results since the last words of the user. @param {Body} body */
const roundOf = ({ messages }) => {
  const last = messages.findLastIndex(({ role }) => role === "user")
  return messages.slice(last).filter(({ role }) => role === "assistant").length
}

/** @param {Body} body @returns {Call | string} */
const script = (body) => {
  const round = roundOf(body)
  if (round >= rounds) return "Done."
  const agent = agentOf(body) === "root" ? children[round - 1] : undefined
  if (agent !== undefined) {
    return { tool: "task", args: { description: "Read files", subagent_type: agent, prompt: promptOf(agent) } }
  }
  return { tool: "read", args: { filePath: `file${round}.txt` } }
}

/** @param {object} delta @param {string | null} [finish] */
const chunk = (delta, finish = null) =>
  `data: ${
    JSON.stringify({
      id: "c",
      object: "chat.completion.chunk",
      model: "m",
      choices: [{ index: 0, delta, finish_reason: finish }]
    })
  }\n\n`

/** @param {Call | string} answer */
const framesOf = (answer) =>
  typeof answer === "string"
    ? [chunk({ content: answer }), chunk({}, "stop")]
    : [
      chunk({
        tool_calls: [{
          index: 0,
          id: "call_1",
          type: "function",
          function: { name: answer.tool, arguments: JSON.stringify(answer.args) }
        }]
      }),
      chunk({}, "tool_calls")
    ]

/** Runs the program twice in one session. @returns {Promise<ReadonlyArray<Body>>} */
const record = async () => {
  /** @type {Array<Body>} */
  const bodies = []
  const home = mkdtempSync(join(tmpdir(), "skein-prefix-"))
  const server = createServer(async (request, response) => {
    let text = ""
    for await (const piece of request) text += piece
    // The directory must not count: it differs between machines.
    const body = /** @type {Body} */ (JSON.parse(text.replaceAll(home, "/home")))
    response.writeHead(200, { "content-type": "text/event-stream" })
    if (body.tools === undefined) return response.end([...framesOf("A title"), "data: [DONE]\n\n"].join(""))
    bodies.push(body)
    response.end([...framesOf(script(body)), "data: [DONE]\n\n"].join(""))
  })
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)))
  try {
    const project = join(home, "project")
    mkdirSync(project)
    for (let at = 0; at < rounds; at++) writeFileSync(join(project, `file${at}.txt`), `${"text ".repeat(200)}${at}\n`)
    const address = server.address()
    const port = typeof address === "object" ? address?.port : undefined
    const env = {
      PATH: process.env["PATH"] ?? "",
      HOME: home,
      OPENAI_API_KEY: "k",
      OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`
    }
    for (const args of [["Look at the files."], ["-c", "Look at them again."]]) {
      const child = spawn(process.execPath, [
        join(root, "packages", "cli", "bin", "skein.js"),
        "run",
        "-m",
        "openai/m",
        ...args
      ], {
        cwd: project,
        env,
        stdio: ["ignore", "ignore", "inherit"]
      })
      const code = await new Promise((resolve) => child.once("close", resolve))
      if (code !== 0) throw new Error(`skein run ended with ${code}. Is ${bundleEntry} built?`)
    }
    return bodies
  } finally {
    rmSync(home, { recursive: true, force: true })
    server.closeAllConnections()
    server.close()
  }
}

/** What a provider reads, in its order. @param {Body} body */
const textOf = ({ messages, tools }) => `${JSON.stringify(tools)}${JSON.stringify(messages).slice(0, -1)}`

/** @param {Body} body */
const fixedOf = ({ messages, tools }) => {
  const system = messages.filter(({ role }) => role === "system")
  return JSON.stringify(tools).length + JSON.stringify(system).length
}

/** How many characters two texts have in common from their start. @param {string} a @param {string} b */
const common = (a, b) => {
  let at = 0
  while (at < a.length && a[at] === b[at]) at++
  return at
}

/** @param {ReadonlyArray<Body>} bodies */
const measure = (bodies) => {
  const texts = bodies.map(textOf)
  const pairs = texts.slice(1).map((text, at) => ({
    before: texts[at]?.length ?? 0,
    kept: common(texts[at] ?? "", text)
  }))
  const before = pairs.reduce((sum, pair) => sum + pair.before, 0)
  const kept = pairs.reduce((sum, pair) => sum + pair.kept, 0)
  return {
    fixed: tokens(fixedOf(/** @type {Body} */ (bodies[0]))),
    again: tokens(kept / Math.max(1, pairs.length)),
    stable: before === 0 ? 1 : kept / before,
    requests: bodies.length
  }
}

const bodies = await record()
console.log("agent    fixed prefix  target  sent again a turn  stable share  requests")
let missed = false
for (const agent of /** @type {const} */ (["root", ...children])) {
  const all = bodies.filter((body) => agentOf(body) === agent)
  // A subagent has two runs, each in a session of its own.
  const { again, fixed, requests, stable } = measure(agent === "root" ? all : all.slice(0, rounds + 1))
  missed ||= fixed > targets[agent] || stable < targets.stable
  const share = `${(stable * 100).toFixed(2)} %`
  console.log(
    [agent.padEnd(7), fixed, targets[agent], again, share, requests]
      .map((each, at) => String(each).padStart([7, 13, 7, 18, 13, 9][at] ?? 0)).join(" ")
  )
}
console.log(
  "Tokens are characters / 4. Without instructions of the project. Known of peers: Claude Code 4500, OpenCode 8500."
)
if (missed) {
  console.error(`bench:prefix: a target is missed (stable share at least ${targets.stable * 100} %)`)
  process.exitCode = 1
}
