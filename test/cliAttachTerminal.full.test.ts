/** Proves what terminals on sessions of a server show, answer and leave behind. Needs python3. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { program, sandbox } from "./support/cli.ts"
import { type Script, startLlm } from "./support/llm.ts"
import { startServer } from "./support/server.ts"
import { hasPython, onTerminal, type TypedKey } from "./support/terminal.ts"

if (!hasPython) {
  console.warn("cliAttachTerminal.full.test.ts is skipped: python3, whose pty module it needs, is not there.")
}

const world = async (script: Script) => {
  const llm = await startLlm(script)
  const place = sandbox({ llm: llm.url })
  atEnd(llm.close, place.remove)
  const server = await startServer(place)
  atEnd(async () => {
    server.child.kill("SIGKILL")
    await server.ended
  })
  const run = (args: ReadonlyArray<string>, keys: ReadonlyArray<TypedKey>, closes?: string) =>
    onTerminal([process.execPath, program, ...args], {
      cwd: place.project,
      env: place.env({ TERM: "xterm-256color", NO_COLOR: "1" }),
      columns: 120,
      keys,
      ...(closes === undefined ? {} : { closes })
    })
  const session = async () => (await server.send("/v1/sessions")).json.items[0]
  return { llm, place, run, server, session }
}

const go = ["run", "-m", "openai/m", "--title", "t", "go"] as const

describe.skipIf(!hasPython)("a terminal on a session of a server (needs python3)", () => {
  it("that is closed leaves its question open, and the next one shows and answers it", async () => {
    const { place, run, server, session } = await world(({ messages }) =>
      messages.at(-1)?.role === "tool"
        ? "it is written"
        : { calls: [{ tool: "write", args: { filePath: "new.txt", content: "x" } }] }
    )
    expect((await run(go, [], "Enter confirms")).code).toBe(129)
    expect((await server.send("/v1/asks")).json.items).toMatchObject([{ permission: "edit" }])
    const { code, plain } = await run(["sessions", "resume", (await session()).id], [
      { after: "Enter confirms", send: "1\r" }
    ])
    expect(code, plain).toBe(0)
    expect(plain).toContain("→ once")
    expect(plain).toContain("it is written")
    expect(readFileSync(join(place.project, "new.txt"), "utf8")).toBe("x")
  })

  it("asks on Ctrl-C whether the turn is stopped, and leaves it running if that is chosen", async () => {
    const { llm, run, session } = await world(() => ({ text: "I begin", hangs: true }))
    const left = await run(go, [
      { after: "I begin", send: "\u0003" },
      { after: "Esc: keep watching.", send: "2" }
    ])
    expect(left.code, left.plain).toBe(130)
    expect(left.plain).toContain("The turn continues on the server")
    const { id, status } = await session()
    expect(status.type).toBe("busy")
    const stopped = await run(["sessions", "resume", id], [
      { after: "build", send: "\u0003" },
      { after: "Esc: keep watching.", send: "1" }
    ])
    expect(stopped.code, stopped.plain).toBe(130)
    expect(stopped.plain).toContain("Stopped by Ctrl-C.")
    expect((await session()).status.type).toBe("idle")
    expect(llm.open()).toBe(0)
  })
})
