// @ts-check
// Measures the page in Chromium: what 100 agents at work cost at ten changes a second each, and how fast 5,000 spans are drawn
// and panned. `npm run bench:web`. The server is a stand-in that sends what a real one would, at an even pace.
import { readFileSync } from "node:fs"
import { createServer } from "node:http"
import { extname, join } from "node:path"
import { chromium } from "playwright-core"
import { largeTree } from "../../test/support/treeData.ts"
import { pageDir } from "../webPage.mjs"

const seconds = Number(process.env["BENCH_SECONDS"] ?? 10)
const agents = 100
const pace = 100
const now = Date.now()
const nothing = { tokens: { input: 0, output: 0, reasoning: 0, cacheRead: 0, cacheWrite: 0 }, cost: "0", steps: 0 }
const usage = { ...nothing, toolCalls: 0, blockedToolCalls: 0 }
const session = {
  id: "ses_1",
  rootID: "ses_1",
  depth: 0,
  projectID: "/p",
  directory: "/p",
  title: "A large tree",
  agent: "build",
  permission: [],
  usage: { own: usage, subtree: usage },
  status: { type: "busy", step: 1 },
  version: 1,
  time: { created: now, updated: now }
}
const { timeline, tree } = largeTree(/** @type {any} */ (session), agents, 5_000)

/** @type {Readonly<Record<string, string>>} */
const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" }
/** @type {Readonly<Record<string, unknown>>} */
const answers = {
  "/v1/login": { key: "k" },
  "/v1/sessions/ses_1/tree": tree,
  "/v1/sessions/ses_1/timeline": timeline,
  "/v1/sessions/ses_1/messages": { items: [] }
}

/** One change of each agent: by turns a delta, and a call whose title changes its row. @param {number} round */
const changes = (round) =>
  Array.from({ length: agents }, (_, at) => {
    const sessionID = `ses_1c${at + 1}`
    const base = { id: "evt_1", sessionID, rootID: "ses_1", depth: 1, timestamp: Date.now() }
    const state = { status: "running", input: {}, title: `file ${round}`, time: { start: Date.now() } }
    const event = round % 2 === 0
      ? {
        ...base,
        type: "message.part.updated",
        properties: { part: { id: `prt_${at}`, sessionID, messageID: "msg_1", type: "tool", tool: "read", state } }
      }
      : {
        ...base,
        type: "message.part.delta",
        properties: { messageID: "msg_1", partID: `prt_t${at}`, field: "text", delta: "word " }
      }
    return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
  }).join("")

const server = createServer((request, response) => {
  const path = (request.url ?? "").split("?", 1)[0] ?? ""
  if (path.endsWith("/events")) {
    response.writeHead(200, { "content-type": "text/event-stream" })
    response.write("retry: 1000\n\n")
    let round = 0
    const timer = setInterval(() => response.write(changes(round++)), pace)
    response.on("close", () => clearInterval(timer))
    return
  }
  if (path in answers) return void response.end(JSON.stringify(answers[path]))
  const name = path.startsWith("/assets/") ? path : "index.html"
  response.setHeader("content-type", types[extname(name)] ?? "text/plain")
  response.end(readFileSync(join(pageDir, name)))
})
await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)))
const address = server.address()
const url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`

const browser = await chromium.launch({
  executablePath: process.env["SKEIN_CHROMIUM"] ?? "/usr/bin/chromium",
  args: ["--no-sandbox"]
})
const page = await browser.newPage({ viewport: { width: 1100, height: 800 } })
const devtools = await page.context().newCDPSession(page)
await devtools.send("Performance.enable")
const metrics = async () => {
  const { metrics: list } = await devtools.send("Performance.getMetrics")
  return Object.fromEntries(list.map(({ name, value }) => [name, value]))
}
await page.goto(`${url}/s/ses_1/tree#code=aaaaaaaaaaaaaaaaaaaaaa`)
await page.getByRole("treeitem", { name: /^Task 1,/ }).waitFor()
const before = await metrics()
await page.waitForTimeout(seconds * 1_000)
const after = await metrics()
const spent = (/** @type {string} */ name) => (after[name] ?? 0) - (before[name] ?? 0)
const wall = spent("Timestamp")
const figures = {
  busyPercentOfOneCore: Math.round(spent("TaskDuration") / wall * 1_000) / 10,
  scriptMsPerDraw: Math.round(spent("ScriptDuration") * 1_000 / (wall * 10) * 10) / 10
}
const drawn = await page.evaluate(`new Promise((done) => {
  const start = performance.now()
  const look = () => document.querySelectorAll(".lane path").length > 20
    ? requestAnimationFrame(() => done(performance.now() - start)) : requestAnimationFrame(look)
  document.querySelectorAll(".tabs a")[1].click()
  look()
})`)
const pan = await page.evaluate(`new Promise((done) => {
  const list = document.querySelector(".lanes")
  const times = []
  let last = performance.now()
  const step = () => {
    const now = performance.now()
    times.push(now - last)
    last = now
    if (times.length > 120) return done(times.slice(1).sort((a, b) => a - b))
    list.dispatchEvent(new KeyboardEvent("keydown", { key: times.length % 2 ? "ArrowLeft" : "ArrowRight", bubbles: true }))
    requestAnimationFrame(step)
  }
  requestAnimationFrame(step)
})`)
console.log(JSON.stringify(
  {
    ...figures,
    spansDrawnMs: Math.round(Number(drawn)),
    panFrameMs: { median: Math.round(pan[60] * 10) / 10, p95: Math.round(pan[113] * 10) / 10 }
  },
  undefined,
  2
))
await browser.close()
server.closeAllConnections()
server.close()
