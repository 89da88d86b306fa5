/** The built program in projects that are configured only for OpenCode or Claude Code: they run unchanged. */
import { cpSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"
import { type LlmAnswer, type LlmRequest, startLlm } from "./support/llm.ts"

vi.setConfig({ testTimeout: 60_000 })

const projects = fileURLToPath(new URL("fixtures/projects", import.meta.url))

const systemOf = ({ messages: [first] }: LlmRequest): string => String(first?.content)

/** A copy of a project, and models that answer by their system prompt. */
const open = async (name: string, answers: Readonly<Record<string, ReadonlyArray<LlmAnswer>>>) => {
  const steps = new Map<string, number>()
  const llm = await startLlm((request) => {
    const who = Object.keys(answers).find((words) => systemOf(request).includes(words)) ?? ""
    const step = steps.get(who) ?? 0
    steps.set(who, step + 1)
    return answers[who]?.[step] ?? "nothing more to do"
  })
  const place = sandbox({ llm: llm.url })
  atEnd(llm.close, place.remove)
  cpSync(join(projects, name), place.project, { recursive: true })
  return { ...place, llm }
}

const task = (agent: string): LlmAnswer => ({
  calls: [{ tool: "task", args: { description: "Look around", prompt: "Look at src", subagent_type: agent } }]
})

/** The lines of `skein config --notes`. */
const notes = async (run: Awaited<ReturnType<typeof open>>["run"]) =>
  (await run(["config", "--notes"])).stdout.split("\n").slice(1)
    .filter((line) => line !== "").map((line) => line.replace(/\S*\/project\//, "").replaceAll("\t", " "))

it("a project for OpenCode has its agents, its rules, its prompts and its instructions", async () => {
  const { llm, run } = await open("opencode", {
    "You lead": [
      { calls: [{ tool: "bash", args: { command: "git push origin", description: "Push" } }] },
      task("scout"),
      { text: "led" }
    ],
    "You look": [{ calls: [{ tool: "read", args: { filePath: "src/count.js" } }] }, {
      text: "src/count.js:1 counts ducks"
    }]
  })
  const ran = await run(["run", "-m", "openai/m", "Have a look"])
  expect(ran).toMatchObject({ code: 0, stdout: "led\n" })
  const [first, second, scout, scouted, last] = llm.requests
  expect(systemOf(first!)).toMatch(/^You lead the work[^]*Run `node --test`[^]*Names of functions are verbs\./)
  expect(first!.tools).toContain("bash")
  expect(first!.tools).not.toContain("webfetch")
  expect(second!.last).toMatch(/denied/i)
  expect(systemOf(scout!)).toMatch(/^You look, and change nothing\.[^]*Run `node --test`/)
  expect(scout!.tools).toContain("read")
  for (const tool of ["bash", "edit", "write", "webfetch"]) expect(scout!.tools).not.toContain(tool)
  expect(scouted!.last).toContain("export const count")
  expect(last!.last).toContain("src/count.js:1 counts ducks")
  expect((await run(["config"])).stderr).toBe("skein: 2 notes on files of other tools: `skein config --notes`\n")
  expect(await notes(run)).toEqual([
    "note opencode.jsonc:6:3 theme: Skein ignores it",
    "note opencode.jsonc:11:7 permission: the rule for \"git push*\" applies, although a wider one follows it"
  ])
})

it("a project for Claude Code has its agents, its rules, and CLAUDE.md with its includes", async () => {
  const { llm, project, run } = await open("claude", {
    "You are Skein": [
      {
        calls: [{ tool: "read", args: { filePath: ".env" } }, {
          tool: "bash",
          args: { command: "curl -s x", description: "Get" }
        }]
      },
      task("code-reviewer"),
      { text: "reviewed" }
    ],
    "You review": [{ text: "src/honk.js:1 is fine" }]
  })
  writeFileSync(join(project, ".env"), "SECRET=quack\n")
  const ran = await run(["run", "-m", "openai/m", "--auto", "Review this"])
  expect(ran).toMatchObject({ stdout: "reviewed\n" })
  const [first, second, reviewer, last] = llm.requests
  expect(systemOf(first!)).toMatch(/See @docs\/conventions\.md[^]*Every function has a test\./)
  expect(first!.tools).not.toContain("webfetch")
  expect(JSON.stringify(second!.messages.slice(-2))).toMatch(/denied[^]*denied/i)
  expect(JSON.stringify(llm.requests.map(({ messages }) => messages))).not.toContain("quack")
  expect(systemOf(reviewer!)).toMatch(/^You review changes\.[^]*Every function has a test\./)
  expect(reviewer!.tools.toSorted()).toEqual(["glob", "grep", "read"])
  expect(last!.last).toContain("src/honk.js:1 is fine")
  expect(await notes(run)).toEqual([
    "note .claude/settings.json:8:3 includeCoAuthoredBy: Skein ignores it",
    expect.stringContaining("permission.bash.npm run lint is ignored: a project's file may not allow"),
    expect.stringContaining("permission.bash.npm run test * is ignored"),
    expect.stringContaining("env.NODE_ENV is ignored: a project's file sets it only with your trust")
  ])
})
