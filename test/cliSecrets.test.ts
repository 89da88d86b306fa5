/** The built program and secrets: values of its environment appear nowhere else, whatever happens. */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"
import { startLlm } from "./support/llm.ts"

vi.setConfig({ testTimeout: 60_000 })

const canaries = {
  OPENAI_API_KEY: "sk-canary-OPENAI-5f1d0c",
  FAKE_API_KEY: "sk-canary-FAKE-77aa31",
  GITHUB_TOKEN: "ghp_canaryTOKEN99001122",
  PGPASSWORD: "canary-PASSWORD-4242"
}

/** Shows the environment of its process and of those that started it, as far as the system lets it. */
const ancestors = `pid=$$
while [ "$pid" -gt 1 ]; do
  tr '\\0' '\\n' < /proc/$pid/environ
  pid=$(sed 's/.*) . //' /proc/$pid/stat | cut -d' ' -f1)
done
`

/** All files below a directory, as text. */
const textsBelow = (directory: string): ReadonlyArray<readonly [path: string, text: string]> =>
  readdirSync(directory).flatMap((name) => {
    const path = join(directory, name)
    const stat = statSync(path, { throwIfNoEntry: false })
    if (stat?.isDirectory() === true) return textsBelow(path)
    return stat?.isFile() === true ? [[path, readFileSync(path, "latin1")] as const] : []
  })

it.each(["auto", "off"])(
  "a run reveals no secret of the environment except to the model's server (sandbox: %s)",
  async (mode) => {
    let count = 0
    const llm = await startLlm(({ messages }) => {
      count++
      if (count === 1) {
        return { calls: [{ tool: "bash", args: { command: "env" } }, { tool: "bash", args: { command: "./tell.sh" } }] }
      }
      if (count === 2) {
        return { calls: [{ tool: "task", args: { description: "d", prompt: "p", subagent_type: "explore" } }] }
      }
      if (count === 4) return { status: 401 }
      return `answer ${messages.length}`
    })
    const place = sandbox({ llm: llm.url })
    atEnd(llm.close, place.remove)
    mkdirSync(join(place.home, "config", "skein"), { recursive: true })
    const hook = `env > ${join(place.project, "hook.env")}`
    writeFileSync(
      join(place.home, "config", "skein", "skein.json"),
      JSON.stringify({
        sandbox: mode,
        permission: { bash: { env: "allow", "./tell.sh": "allow" } },
        hooks: { PreToolUse: [{ command: hook }] }
      })
    )
    writeFileSync(join(place.project, "tell.sh"), `#!/bin/bash\nenv > tool.env\nenv\n${ancestors}`, { mode: 0o755 })
    const runs = [
      await place.run(["run", "-m", "openai/m", "--verbose", "go"], { env: canaries }),
      await place.run(["run", "-m", "openai/m", "--format", "json", "-c", "again"], { env: canaries }),
      await place.run(["sessions", "export", "--verbose"], { env: canaries }),
      await place.run(["doctor", "--format", "json", "--verbose"], { env: canaries }),
      await place.run(["config", "--format", "json"], { env: canaries })
    ]
    expect(llm.requests.length).toBeGreaterThan(3)
    expect(llm.requests[0]?.headers.authorization).toBe(`Bearer ${canaries.OPENAI_API_KEY}`)
    expect(readFileSync(join(place.project, "tool.env"), "utf8")).toContain("PATH=")
    expect(readFileSync(join(place.project, "hook.env"), "utf8")).toContain("PATH=")
    const places = [
      ...runs.flatMap(({ stderr, stdout }, at) => [[`stdout ${at}`, stdout], [`stderr ${at}`, stderr]] as const),
      ...textsBelow(place.home),
      ["what models were sent", JSON.stringify(llm.requests.map(({ messages }) => messages))] as const
    ]
    for (const [where, text] of places) {
      for (const [name, canary] of Object.entries(canaries)) {
        expect(text.includes(canary), `${name} in ${where}`).toBe(
          false
        )
      }
    }
  }
)
