/** The built program with an agent from a file. */
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"
import { startLlm } from "./support/llm.ts"

vi.setConfig({ testTimeout: 60_000 })

it("an agent from a file is listed with its origin, and runs with its prompt", async () => {
  const llm = await startLlm(({ messages }) => JSON.stringify(messages[0]))
  const place = sandbox({
    llm: llm.url,
    files: {
      ".skein/agent/team/critic.md": "---\ndescription: Finds faults\n---\nYou are the critic of everything.\n",
      ".claude/agents/helper.md": "---\nname: helper\ndescription: Helps\nmodel: opus\ntools: Read\n---\nHelp.\n"
    }
  })
  atEnd(llm.close, place.remove)
  const { stderr, stdout } = await place.run(["agents"])
  expect(stdout).toMatch(/^team\/critic\tall\t-\t\S+\.skein\/agent\/team\/critic\.md:2\tFinds faults$/m)
  expect(stdout).toMatch(/^helper\tall\tsession\/large\t\S+\.claude\/agents\/helper\.md:\d\tHelps$/m)
  expect(stderr).toBe("")
  const ran = await place.run(["run", "-m", "openai/m", "--agent", "team/critic", "hello"])
  expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining("You are the critic of everything.") })
})
