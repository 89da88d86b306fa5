/** The built program's session in lines: for screen readers, and where a terminal only prints. Needs python3. */
import { existsSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { program, sandbox } from "./support/cli.ts"
import { type LlmAnswer, type Script, startLlm } from "./support/llm.ts"
import { hasPython, onTerminal, type TypedKey } from "./support/terminal.ts"

if (!hasPython) console.warn("cliPlain.test.ts is skipped: python3, whose pty module it needs, is not there.")

const world = async (script: Script) => {
  const llm = await startLlm(script)
  const place = sandbox({ llm: llm.url })
  atEnd(llm.close, place.remove)
  const open = (
    keys: ReadonlyArray<TypedKey>,
    args: ReadonlyArray<string>,
    env: Readonly<Record<string, string>> = {}
  ) =>
    onTerminal([process.execPath, program, "-m", "openai/m", ...args], {
      cwd: place.project,
      env: place.env({ TERM: "xterm-256color", ...env }),
      keys
    })
  return { place, open }
}

const ready = "Ready. Write a prompt"

const writes: Script = ({ messages }): LlmAnswer | string =>
  messages.at(-1)?.role === "tool"
    ? `model heard: ${String(messages.at(-1)?.content)}`
    : { calls: [{ tool: "write", args: { filePath: "new.txt", content: "text" } }] }

describe.skipIf(!hasPython)("a session in lines (needs python3)", () => {
  it.each([["--plain", ["--plain"], {}], ["TERM=dumb", [], { TERM: "dumb" }]])(
    "by %s talks over several turns, and never moves the cursor",
    async (_, args, env) => {
      const { open } = await world(({ user }) =>
        `# Answer ${user.length}\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nEnd ${user.length}.`
      )
      const { code, printed } = await open(
        [
          { after: ready, send: "first question\n" },
          { after: "End 1.", send: "" },
          { after: ready, send: "see @nothing.txt\n" },
          { after: "Not sent: see @nothing.txt", send: "second\n" },
          { after: "End 2.", send: "" },
          { after: ready, send: "/help\n" },
          { after: "/quit", send: "/quit\n" }
        ],
        args,
        env
      )
      expect(code, printed).toBe(0)
      expect(printed).toContain("@nothing.txt is neither a file here nor a subagent.")
      expect(printed).not.toContain("\u001b")
      expect(printed.split("End 1.").length).toBe(2)
    }
  )

  it("asks by number, and takes the reason for a no from the next line", async () => {
    const { open, place } = await world(writes)
    const { code, printed } = await open([
      { after: ready, send: "go\n" },
      // It takes no answer before it says so.
      { after: "asks for permission", send: "1\n" },
      { after: "That answered nothing", send: "" },
      { after: "Write the number of your answer", send: "5\n" },
      { after: "Write it and Enter.", send: "not there\n" },
      { after: "model heard", send: "" },
      { after: ready, send: "/quit\n" }
    ], ["--plain"])
    expect(code, printed).toBe(0)
    expect(printed).toContain("The user says: not there")
    expect(printed).not.toContain("\u001b")
    expect(existsSync(join(place.project, "new.txt"))).toBe(false)
  })

  it("asks about trust before anything else: for all values, none, or those that are chosen", async () => {
    const { open, place } = await world(() => "Hello.")
    writeFileSync(
      join(place.project, "skein.json"),
      JSON.stringify({ retry: { attempts: 99 }, limits: { concurrency: 99 }, sandbox_network: true })
    )
    const { code, printed } = await open([
      { after: "3 Choose which to trust", send: "3\n" },
      { after: "value 1 of 3?", send: "" },
      { after: "3 Leave", send: "1\n" },
      { after: "value 2 of 3?", send: "" },
      { after: "3 Leave", send: "2\n" },
      { after: "value 3 of 3?", send: "" },
      { after: "3 Leave", send: "1\n" },
      { after: ready, send: "/quit\n" }
    ], ["--plain"])
    expect(code, printed).toBe(0)
    const states = async () =>
      JSON.parse((await place.run(["trust", "--format", "json"])).stdout)
        .map(({ key, state }: { readonly key: string; readonly state: string }) => `${key} ${state}`)
    expect(await states()).toEqual([
      "retry.attempts untrusted",
      "limits.concurrency trusted",
      "sandbox_network untrusted"
    ])
    expect((await place.run(["trust", "allow", "all"])).code).toBe(0)
    expect((await states()).filter((line: string) => !line.endsWith(" trusted"))).toEqual([])
  })

  it("stops the turn with Ctrl+C, and quits with it twice", async () => {
    const { open } = await world(() => new Promise<never>(() => undefined))
    const { code, printed } = await open([
      { after: ready, send: "hang\n" },
      { after: "› hang", send: "\u0003" },
      { after: "Interrupted. What next?", send: "\u0003" },
      { after: "Press Ctrl+C again to quit.", send: "\u0003" }
    ], ["--plain"])
    expect(code, printed).toBe(0)
  })
})
