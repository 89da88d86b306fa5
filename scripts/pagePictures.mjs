// @ts-check
// Draws the pictures of the page in docs/, from a real run in Chromium: `npm run build && node scripts/pagePictures.mjs`.
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { chromium } from "playwright-core"
import { sandbox } from "../test/support/cli.ts"
import { delegate, leads, startFlock } from "../test/support/flock.ts"
import { startServer } from "../test/support/server.ts"
import { root } from "./layout.mjs"

const flock = await startFlock((gate) => {
  const later = async () => {
    await gate("never")
    return ""
  }
  const read = (/** @type {string} */ filePath) => ({ calls: [{ tool: "read", args: { filePath } }] })
  const bash = (/** @type {string} */ command) => ({
    calls: [{ tool: "bash", args: { command, description: "Runs it" } }]
  })
  return {
    Survey: [
      delegate({ storage: "lead", tools: "general", provider: "general", server: "general", docs: "general" }),
      later
    ],
    storage: [delegate({ migrations: "general", queries: "general" }), later],
    migrations: [read("a.ts"), bash("npm test -- packages/storage && rm -rf tmp"), later],
    queries: [read("a.ts"), later],
    tools: [read("a.ts"), read("a.ts"), "All tools are described."],
    provider: [{ status: 429, message: "Rate limit reached." }, later],
    server: [read("a.ts"), later],
    docs: [{ status: 400, message: "There is no such model." }]
  }
})
const place = sandbox({ llm: flock.url, files: { "a.ts": "export const a = 1\n" } })
mkdirSync(join(place.home, "config", "skein"), { recursive: true })
writeFileSync(join(place.home, "config", "skein", "skein.json"), leads)
const server = await startServer(place)
const { json: session } = await server.send("/v1/sessions", { directory: place.project, title: "Survey the project" })
await server.send(`/v1/sessions/${session.id}/prompt`, { text: "Survey the project" })
const executablePath = process.env["SKEIN_CHROMIUM"] ?? "/usr/bin/chromium"
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] })
const page = await browser.newPage({ viewport: { width: 820, height: 520 } })
await page.goto(server.line)
await page.getByRole("button", { name: "Allow once" }).waitFor()
for (
  const [name, path] of [["home", ""], ["tree", "/tree"], ["timeline", "/timeline"], ["transcript", "/transcript"]]
) {
  await page.goto(path === "" ? server.url : `${server.url}/s/${session.id}${path}`)
  await page.getByRole("button", { name: "Allow once" }).waitFor()
  await page.getByText("Live", { exact: true }).waitFor()
  await page.getByText("Survey the project").last().waitFor()
  await page.screenshot({ path: join(root, "docs", `web-${name}.png`) })
}
await browser.close()
server.child.kill("SIGKILL")
await server.ended
await flock.close()
place.remove()
