/** The built program and a database that another process keeps locked for longer than it waits. */
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"
import { locked } from "./support/database.ts"
import { startLlm } from "./support/llm.ts"

vi.setConfig({ testTimeout: 90_000 })

it(
  "ends the run with an error after half a minute, and the session continues later",
  async () => {
    const llm = await startLlm(async ({ messages }) => {
      const done = messages.filter(({ role }) => role === "tool").length
      if (llm.requests.length === 2) atEnd(await locked(place.database, 36_000))
      return done < 3 ? { calls: [{ tool: "read", args: { filePath: "a.txt", limit: done + 1 } }] } : "done"
    })
    const place = sandbox({ llm: llm.url, files: { "a.txt": "needle\n" } })
    atEnd(llm.close, place.remove)
    const ended = await place.run(["run", "-m", "openai/m", "--title", "t", "--format", "quiet", "go"])
    expect(ended).toMatchObject({ code: 1, stderr: expect.stringMatching(/locked|lock of/) })
    const [{ id }] = JSON.parse((await place.run(["sessions", "--format", "json"])).stdout)
    const resumed = await place.run(["sessions", "resume", id, "--format", "quiet"])
    expect(resumed).toMatchObject({ code: 0, stdout: "done\n" })
  }
)
