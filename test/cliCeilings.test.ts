/** The built program: a task keeps what it was denied when it was requested, whatever the config says once it continues. */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"
import { within } from "./support/database.ts"
import { startLlm } from "./support/llm.ts"

vi.setConfig({ testTimeout: 60_000 })

const strict = {
  permission: { read: { "*": "allow", "*secret.txt": "deny" }, edit: { "*": "allow", "kept.txt": "deny" } }
}
const lax = { permission: { read: "allow", edit: "allow", bash: "allow" }, agent: { general: { permission: "allow" } } }

it("a run under a strict config that is killed stays denied what that denied, resumed under a laxer one", async () => {
  let isKilled = false
  const llm = await startLlm(({ messages, user }) => {
    const results = messages.filter(({ role }) => role === "tool")
    if (user.includes("go")) {
      return results.length === 0
        ? { calls: [{ tool: "task", args: { subagent_type: "general", description: "d", prompt: "look" } }] }
        : `got: ${JSON.stringify(results.at(-1)?.content)}`
    }
    if (!isKilled) return { hangs: true }
    if (results.length > 0) return results.map(({ content }) => JSON.stringify(content)).join("\n")
    return {
      calls: [
        { tool: "read", args: { filePath: "secret.txt" } },
        { tool: "read", args: { filePath: "open.txt" } },
        { tool: "write", args: { filePath: "kept.txt", content: "changed" } },
        { tool: "write", args: { filePath: "new.txt", content: "new" } }
      ]
    }
  })
  atEnd(llm.close)
  const place = sandbox({ llm: llm.url })
  atEnd(place.remove)
  const configure = (config: object) => {
    const directory = join(place.home, "config", "skein")
    mkdirSync(directory, { recursive: true })
    writeFileSync(join(directory, "skein.json"), JSON.stringify(config))
  }
  writeFileSync(join(place.project, "secret.txt"), "the secret\n")
  writeFileSync(join(place.project, "open.txt"), "the open\n")
  configure(strict)
  const running = place.start(["run", "-m", "openai/m", "--title", "t", "go"])
  await llm.asked(2)
  running.child.kill("SIGKILL")
  await running.ended
  isKilled = true
  configure(lax)
  const [root] = within(place.database, (db) => db.prepare("SELECT id FROM session WHERE parent_id IS NULL").all())
  const { code, stdout } = await place.run(["sessions", "resume", String(root?.["id"])])
  expect(code).toBe(0)
  expect(stdout).toContain("the open")
  expect(stdout).not.toContain("the secret")
  expect(stdout).toMatch(/a rule forbids read \(secret\.txt\)/)
  expect(stdout).toMatch(/a rule forbids edit \(kept\.txt\)/)
  expect(stdout).toMatch(/new\.txt/)
})
