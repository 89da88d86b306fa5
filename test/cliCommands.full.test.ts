/** The built program with commands and skills: from files and built in, listed, shown and used. */
import { existsSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"
import { startLlm } from "./support/llm.ts"

vi.setConfig({ testTimeout: 60_000 })

const files = {
  ".skein/command/fix.md": "---\ndescription: Fixes an issue\n---\nFix $1, then $2.",
  ".skein/command/find.md": "Found: !`grep -F \"$ARGUMENTS\" notes.txt`",
  ".claude/commands/look.md": "---\nallowed-tools: Bash\n---\nLook at @notes.txt",
  "skein.json": JSON.stringify({ command: { apart: { template: "Count $ARGUMENTS", agent: "explore" } } }),
  "notes.txt": "\"; touch PWNED; # here\nwe don't know\n"
}

const world = async (more: Readonly<Record<string, string>> = {}) => {
  const llm = await startLlm(({ last }) => `heard: ${last}`)
  const place = sandbox({ llm: llm.url, files: { ...files, ...more } })
  atEnd(llm.close, place.remove)
  const run = (...args: ReadonlyArray<string>) => place.run(["run", "-m", "openai/m", "--title", "t", ...args])
  return { llm, place, run }
}

describe("skein run", () => {
  it("prompts with a command: its words are arguments as the shell split them", async () => {
    const { run } = await world()
    const ran = await run("--command", "fix", "the bug", "a", "b")
    expect(ran).toMatchObject({ code: 0, stdout: "heard: Fix the bug, then a b.\n" })
    expect(ran.stderr).toContain("> command fix")
    const json = await run("--format", "json", "/fix \"the bug\" rest")
    const events = json.stdout.trim().split("\n").map((line) => JSON.parse(line) as { type: string; text?: string })
    expect(events.find(({ type }) => type === "command.executed")).toMatchObject({
      properties: { name: "fix", arguments: "\"the bug\" rest" }
    })
    expect(events.at(-1)).toMatchObject({ type: "result", text: "heard: Fix the bug, then rest." })
  })

  it("never runs the content of arguments (S43)", async () => {
    const { place, run } = await world()
    expect((await run("--command", "find", "\"; touch PWNED; #")).stdout).toBe(
      "heard: Found: \"; touch PWNED; # here\n"
    )
    for (const words of ["$(touch PWNED)", "`touch PWNED`", "' ; touch PWNED ; '", "\n touch PWNED\n"]) {
      expect(await run("--command", "find", words)).toMatchObject({ code: 0 })
      expect(existsSync(join(place.project, "PWNED")), words).toBe(false)
    }
    expect((await run("--command", "find", "don't")).stdout).toBe("heard: Found: we don't know\n")
    expect(existsSync(join(place.project, "PWNED"))).toBe(false)
  })

  it("reports denied shell text in the prompt, and exits as for any denial", async () => {
    const { run } = await world({
      ".skein/command/touch.md": "!`touch PWNED`",
      "skein.json": JSON.stringify({ permission: { bash: { "touch *": "ask" } } })
    })
    const ran = await run("--command", "touch")
    expect(ran.code).toBe(3)
    expect(ran.stdout).toMatch(/^heard: \[`touch PWNED` was not run: /)
    expect(ran.stderr).toContain("1 request was not permitted: bash touch PWNED (build)")
  })

  it("runs a command of a subagent as a task, and continues with its result", async () => {
    const { llm, run } = await world()
    const ran = await run("--command", "apart", "files")
    expect(ran).toMatchObject({
      code: 0,
      stdout: "heard: Summarize the task tool output above and continue with your task.\n"
    })
    expect(llm.requests.map(({ last }) => last)).toEqual([
      "Count files",
      "Summarize the task tool output above and continue with your task."
    ])
  })

  it("reports a command with an unknown agent to the model, and continues", async () => {
    const { run } = await world({ ".skein/command/lost.md": "---\nagent: nobody\n---\nCount it" })
    const ran = await run("--command", "lost")
    expect(ran).toMatchObject({
      code: 0,
      stdout: "heard: Summarize the task tool output above and continue with your task.\n"
    })
    expect(ran.stderr).toContain("> task description=lost subagent_type=nobody command=/lost\n")
    expect(ran.stderr).toContain(
      "> task failed: Tool execution failed: Unknown agent type: nobody is not a valid agent type\n"
    )
  })

  it("attaches what the typed words name, and passes piped text unchanged", async () => {
    const { llm, place } = await world()
    const args = ["run", "-m", "openai/m", "--title", "t", "Read @notes.txt, and ask @explore, not @nobody"]
    await place.run(args, { input: "@skein.json /fix" })
    expect(llm.requests[0]?.user.join("\n")).toBe([
      "Read @notes.txt, and ask @explore, not @nobody",
      "@skein.json /fix",
      "@notes.txt, as the tool read shows it:\n\n     1\t\"; touch PWNED; # here\n     2\twe don't know",
      "The user asks for the subagent explore: call task with subagent_type \"explore\"."
    ].join("\n"))
  })

  it("takes a slash for a path if there is no such command, and refuses a flag with an unknown one", async () => {
    const { run } = await world()
    expect((await run("/etc/hosts is", "what?")).stdout).toBe("heard: /etc/hosts is what?\n")
    const refused = await run("--command", "fxi")
    expect(refused).toMatchObject({ code: 2, stdout: "" })
    expect(refused.stderr).toContain("There is no command \"fxi\". Did you mean \"fix\"?")
  })
})

it("says which file of a command is missing, to the person and to the model", async () => {
  const { llm, run } = await world({ ".skein/command/look.md": "Read @missing.md, not @someone" })
  const { code, stderr } = await run("/look")
  expect(code).toBe(0)
  expect(stderr).toMatch(/^@missing\.md is not attached: missing\.md does not exist\.$/m)
  expect(llm.requests[0]?.user.join("\n")).toContain("@missing.md is not attached")
  expect(stderr).not.toContain("@someone")
})

describe("an unknown name in a typed prompt", () => {
  const refused: Readonly<Record<string, string>> = {
    "/fxi the bug": "There is no command /fxi. Did you mean /fix?",
    "/nosuch": "There is no command /nosuch. See `skein commands`.",
    "Read @notse.txt": "@notse.txt is neither a file here nor a subagent. Did you mean @notes.txt?",
    "Read @.skein/nosuch": "@.skein/nosuch is neither a file here nor a subagent.",
    "Ask @exlpore": "@exlpore is neither a file here nor a subagent. Did you mean @explore?",
    "Ask @odd": "The agent \"odd\" cannot be used"
  }

  it("is reported and not sent", async () => {
    const { llm, place, run } = await world({ ".skein/agent/odd.md": "---\nmode: nonsense\n---\nOdd" })
    for (const [words, says] of Object.entries(refused)) {
      const ended = await run(words)
      expect(ended, words).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(says) })
    }
    expect(llm.requests).toEqual([])
    expect((await place.run(["sessions", "--format", "json"])).stdout.trim()).toBe("[]")
  })

  it("is sent with a note if it may be anything else, or as text if that is said", async () => {
    const { run } = await world()
    const note = "is neither a file here nor a subagent, and is sent as text."
    const named = await run("Thank @somebody for @types/node")
    expect(named).toMatchObject({ code: 0, stdout: "heard: Thank @somebody for @types/node\n" })
    expect(named.stderr).toContain(`@somebody ${note}`)
    expect(named.stderr).toContain(`@types/node ${note}`)
    expect(await run(" /nosuch and `@notse.txt`")).toMatchObject({
      code: 0,
      stdout: "heard:  /nosuch and `@notse.txt`\n"
    })
  })
})

describe("skein commands", () => {
  it("lists them with their origin, and shows one", async () => {
    const { place } = await world({ ".skein/command/review.md": "Mine" })
    const { code, stderr, stdout } = await place.run(["commands"])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^fix\t-\t\S+\.skein\/command\/fix\.md\tFixes an issue$/m)
    expect(stdout).toMatch(/^init\t-\tbuilt in\tWrites AGENTS\.md/m)
    expect(stdout).toMatch(/^apart\texplore\t\S+skein\.json:\d+\t$/m)
    expect(stderr).toBe("skein: 1 note on files of other tools: `skein config --notes`\n")
    const notes = await place.run(["config", "--notes"])
    expect(notes.stdout).toMatch(/^note\t\S+look\.md:2:1\tallowed-tools: a command allows nothing here/m)
    const shown = await place.run(["commands", "show", "review"])
    expect(shown.stdout).toMatch(/^from: \S+review\.md\nhides: built in\n\nMine\n$/)
    const json = await place.run(["commands", "list", "--format", "json"])
    expect((JSON.parse(json.stdout) as ReadonlyArray<{ name: string }>).map(({ name }) => name)).toEqual([
      "apart",
      "find",
      "fix",
      "init",
      "look",
      "review"
    ])
  })

  it("report unusable files, and still list the others; runs without them continue", async () => {
    const { place, run } = await world()
    writeFileSync(join(place.project, ".skein/command/bad.md"), "---\nmodle: a/b\n---\nx")
    const { code, stderr, stdout } = await place.run(["commands"])
    expect(code).toBe(0)
    expect(stdout).toContain("fix")
    expect(stderr).toMatch(/bad\.md:2:1: unknown key "modle" in command\.bad; did you mean "model"\?/)
    const used = await run("--command", "bad")
    expect(used.code).toBe(2)
    expect(used.stderr).toContain("did you mean \"model\"?")
    expect((await run("hello")).code).toBe(0)
  })
})

describe("skills", () => {
  const skill = {
    ".skein/skills/release/SKILL.md": "---\ndescription: For releases\n---\nTag first.",
    ".skein/skills/release/list.txt": "a\n",
    ".skein/skills/bad/SKILL.md": "---\ndescripton: x\n---\nx"
  }

  it("are listed with their origin, and unusable files are reported", async () => {
    const { place } = await world(skill)
    const { code, stderr, stdout } = await place.run(["skills"])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^release\t\S+\.skein\/skills\/release\/SKILL\.md\tFor releases$/m)
    expect(stderr).toMatch(/bad\/SKILL\.md:2:1: unknown key "descripton" in skill; did you mean "description"\?/)
  })

  it("are offered to a model, which reads the one that it requests", async () => {
    const llm = await startLlm(({ messages, tools }) =>
      messages.at(-1)?.role === "tool"
        ? String(messages.at(-1)?.content)
        : { calls: tools.includes("skill") ? [{ tool: "skill", args: { name: "release" } }] : [] }
    )
    const place = sandbox({ llm: llm.url, files: skill })
    atEnd(llm.close, place.remove)
    const ran = await place.run(["run", "-m", "openai/m", "--title", "t", "release it"])
    expect(ran.stdout).toMatch(/^Skill release:\n\nTag first\.\n\nFiles in its folder, \S+release:\n- list\.txt\n$/)
  })
})
