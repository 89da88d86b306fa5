/** Programs on a host that lacks the directory of a session: what they know of its project and files, they know from a server. */
import { dirname } from "node:path"
import { afterAll, expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { program } from "./support/cli.ts"
import { atAlpha, onHost, startHosts } from "./support/hosts.ts"
import { hasPython, onTerminal, shown } from "./support/terminal.ts"

vi.setConfig({ testTimeout: 60_000 })

const postgres = await startHosts()

if (typeof postgres === "string") {
  it.skip(postgres, () => undefined)
} else {
  afterAll(postgres.stop)

  const files = { "notes.txt": "the word is heron" }

  it.each([
    ["the server", true],
    ["a server of a cluster", false]
  ])("an attached run works in a directory that only %s has, and attaches a file of it", async (_, isAlone) => {
    const { first, llm, placeOn, project } = await atAlpha(postgres, { isAlone, files })
    const at = placeOn("beta", dirname(project))
    atEnd(at.remove)
    const run = (...args: ReadonlyArray<string>) =>
      at.run(["run", "-m", "openai/m", `--attach=${first.url}`, ...args], { env: { SKEIN_TOKEN: first.token } })
    const made = await run("--dir", project, "Read @notes.txt")
    expect(made).toMatchObject({ code: 0, stdout: "All is done.\n" })
    expect(made.stderr).toContain("@notes.txt is looked for on the server.")
    expect(JSON.stringify(llm.requests.at(-1)?.messages)).toContain("heron")
    expect(await run("--dir", project, "--continue", "More")).toMatchObject({ code: 0 })
    expect(llm.requests.at(-1)?.user).toEqual([expect.stringContaining("Read @notes.txt"), "More"])
    const none = await run("--dir", "/no/such", "Go")
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining("There is no directory \"/no/such\" on the")])
  })

  it.skipIf(!hasPython)(
    "a terminal asks the project of its session, and says which files it does not see",
    async () => {
      const { first, id, project, start } = await atAlpha(postgres, { files })
      const second = await start("beta", dirname(project))
      const { code, printed } = await onTerminal(
        [...onHost("beta", dirname(project)), process.execPath, program, `--attach=${second.url}`, "--session", id],
        {
          cwd: second.at.project,
          env: second.at.env({ TERM: "xterm-256color", NO_COLOR: "1" }),
          columns: 200,
          keys: [
            { after: "server 127.0.0.1", send: "/model\r" },
            { after: "tokens of context", send: "\u001b" },
            { after: "\u001b[?25h", send: "/agents\r" },
            { after: "Agents on the server", send: "q" },
            { after: "\u001b[?1049l", send: "@no" },
            { after: "are on the host alpha, and are not listed here", send: "\u0015!ls\r" },
            { after: "Nothing was run", send: "/diff\r" },
            { after: "does not tell what has changed there", send: "/mcp\r" },
            { after: "does not list them", send: "/quit\r" },
            { after: "leave it running", send: "2\r" }
          ]
        }
      )
      expect(code, await shown(printed)).toBe(0)
      expect(printed).not.toContain("notes.txt")
      expect(first.url).not.toBe(second.url)
    }
  )
}
