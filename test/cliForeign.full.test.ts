/** The built program in projects with files of other tools: they are used as far as possible, and never stop a run. */
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"
import { type LlmAnswer, startLlm } from "./support/llm.ts"

vi.setConfig({ testTimeout: 60_000 })

const place = (files: Readonly<Record<string, string>>, llm?: string) => {
  const made = sandbox({ files, ...(llm === undefined ? {} : { llm }) })
  atEnd(made.remove)
  return made
}

const lines = (text: string) => text.split("\n").filter((line) => line !== "")

const task = (agent: string) => ({ tool: "task", args: { description: "Do it", prompt: "Go", subagent_type: agent } })

it("sizes of models are models of the session's vendor, in sessions, tasks and commands", async () => {
  const llm = await startLlm(({ last }): LlmAnswer =>
    last.startsWith("start") ? { calls: ["haiku", "sonnet", "opus", "inherit"].map(task) } : { text: "done" }
  )
  atEnd(llm.close)
  const files = Object.fromEntries(["haiku", "sonnet", "opus", "inherit"].flatMap((model) => [
    [`.claude/agents/${model}.md`, `---\nname: ${model}\ndescription: x\nmodel: ${model}\n---\nYou are ${model}.`],
    [`.claude/commands/with-${model}.md`, `---\nmodel: ${model}\n---\nCommand of ${model}.`]
  ]))
  const { configure, run } = place(files, llm.url)
  const asked = () =>
    llm.requests.map(({ messages: [system], model }) => [
      model,
      /You are (haiku|sonnet|opus|inherit)\./.exec(String(system?.content))?.[1]
    ])
  const children = [
    ["gpt-6-luna", "haiku"],
    ["gpt-6.1-sol", "sonnet"],
    ["gpt-6-astra", "opus"]
  ]
  // A model on the command line holds for subagents, too: the user's own config names no other.
  expect(await run(["run", "-m", "openai/gpt-5.1", "start"])).toMatchObject({ code: 0, stdout: "done\n" })
  expect(new Set(asked().map(([model]) => model))).toEqual(new Set(["gpt-5.1"]))
  expect(asked().filter(([, size]) => size !== undefined)).toHaveLength(4)
  configure({ model: "openai/gpt-5.1" })
  const named = llm.requests.length
  expect(await run(["run", "start"])).toMatchObject({ code: 0, stdout: "done\n" })
  expect(asked().slice(named)).toEqual(
    expect.arrayContaining([["gpt-5.1", undefined], ...children, ["gpt-5.1", "inherit"]])
  )
  const before = llm.requests.length
  expect(await run(["run", "--agent", "opus", "hello"])).toMatchObject({ code: 0, stdout: "done\n" })
  expect(asked().slice(before)).toEqual([["gpt-6-astra", "opus"]])
  for (const [model, size] of [...children, ["gpt-5.1", "inherit"]]) {
    const from = llm.requests.length
    const ran = await run(["run", "--command", `with-${size}`, ...(size === "inherit" ? ["-m", "openai/gpt-5.1"] : [])])
    expect(ran).toMatchObject({ code: 0 })
    expect([llm.requests[from]?.model, llm.requests[from]?.last]).toEqual([model, `Command of ${size}.`])
  }
})

it("a model that cannot be used here is noted, and the default one answers", async () => {
  const { run } = place({
    "opencode.json": JSON.stringify({
      model: "openai/gpt-5.3-codex",
      small_model: "cerebras/gpt-oss-120b",
      agent: { build: { model: "ollama/gemma4:e2b" }, explore: { model: "github-copilot/gpt-5" } }
    }),
    ".claude/agents/a.md": "---\nname: a\nmodel: opus\n---\nx",
    "src/a.ts": "export const a = 1\n"
  })
  for (const args of [[], ["-m", "offline/survey"], ["--agent", "a"]]) {
    const ran = await run(["run", ...args, "Survey this repository"])
    expect([args, ran.code, ran.stdout.includes("src/a.ts")]).toEqual([args, 0, true])
  }
  const noted = await run(["config", "--notes"])
  expect(noted.stdout).toContain(
    "\"openai/gpt-5.3-codex\" cannot be used here, because openai needs a key: set OPENAI_API_KEY"
  )
  expect(noted.stdout).toContain("\"ollama/gemma4:e2b\" cannot be used here, because ollama is a server")
})

it("a run in a project with forty files of other tools prints one line of notes", async () => {
  const files = Object.fromEntries(
    Array.from({ length: 10 }, (_, i) => [
      [`.claude/agents/c${i}.md`, `---\nname: c${i}\ndescription: "open\ncolor: accent\ntags: [x]\n---\nWork.`],
      [`.opencode/agent/o${i}.md`, `---\ndescription: x\nmodel: zed/z\npermission:\n  bash: allow\n---\nWork.`],
      [`.claude/commands/c${i}.md`, "---\nauthor: me\n---\nDo $ARGUMENTS."],
      [`.claude/skills/s${i}/SKILL.md`, "---\nname: s\nversion: 1\n---\n\nText."]
    ]).flat()
  )
  const { run } = place({
    ...files,
    ".claude/settings.json": JSON.stringify({
      theme: "dark",
      permissions: { allow: ["Bash(git status)", "Edit"], defaultMode: "acceptEdits" }
    }),
    "src/a.ts": "export const a = 1\n"
  })
  const ran = await run(["run", "-m", "offline/survey", "Survey this repository"])
  expect(ran.code).toBe(0)
  expect(lines(ran.stderr).filter((line) => !/^\s*>/.test(line))).toEqual([
    expect.stringMatching(
      /^\d+ notes on files of other tools, 12 values wait for trust \(`skein trust`\): `skein config --notes`$/
    )
  ])
  for (const listed of ["agents", "commands", "skills", "config"]) {
    const { code, stderr } = await run([listed])
    expect([listed, code, lines(stderr).length]).toEqual([listed, 0, 1])
  }
})

it("a task for an agent with an unusable file reports the fault of the file", async () => {
  const llm = await startLlm(({ last }): LlmAnswer =>
    last.startsWith("start") ? { calls: [task("locked")] } : { text: last }
  )
  atEnd(llm.close)
  const { run } = place({
    ".claude/agents/locked.md": "---\nname: locked\nrestrictions: no network\n---\nWork."
  }, llm.url)
  const ran = await run(["run", "--auto", "-m", "openai/m", "start"])
  expect(ran.stdout).toMatch(
    /Unknown agent type: locked is not a valid agent type: its file cannot be used\.\n.*locked\.md:3:1: .*restrictions: this restriction is not understood/
  )
})

it("a command in a folder is found by its path, with a colon, and by its own name", async () => {
  const llm = await startLlm(({ last }) => last)
  atEnd(llm.close)
  const { run } = place({
    ".claude/commands/git/commit.md": "Commit: $ARGUMENTS",
    ".claude/commands/git/push.md": "Push.",
    ".claude/commands/docs/push.md": "Publish."
  }, llm.url)
  for (const name of ["/git/commit", "/git:commit", "/commit"]) {
    expect(await run(["run", "-m", "openai/m", `${name} now`])).toMatchObject({ code: 0, stdout: "Commit: now\n" })
  }
  expect(await run(["run", "-m", "openai/m", "/docs:push"])).toMatchObject({ code: 0, stdout: "Publish.\n" })
  expect(await run(["run", "-m", "openai/m", "/push"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("Several commands are called \"push\": docs/push, git/push. Write one in full.")
  })
  expect(await run(["commands", "show", "git:commit"])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("Commit: $ARGUMENTS")
  })
})

it("--auto does nothing that opencode.json of version 2 denies", async () => {
  const calls: LlmAnswer["calls"] = [
    { tool: "write", args: { filePath: "new.txt", content: "x" } },
    { tool: "read", args: { filePath: "secrets/key.txt" } },
    { tool: "bash", args: { command: "git push origin main", description: "Push" } },
    { tool: "bash", args: { command: "cat secrets/key.txt", description: "Show" } }
  ]
  const llm = await startLlm(({ last }): LlmAnswer => last.startsWith("start") ? { calls } : { text: "done" })
  atEnd(llm.close)
  const rule = (action: string, resource: string) => ({ action, resource, effect: "deny" })
  const { run } = place({
    "secrets/key.txt": "the-secret-key\n",
    "opencode.json": JSON.stringify({
      permissions: [rule("edit", "*"), rule("read", "secrets/*"), rule("shell", "git push *")]
    })
  }, llm.url)
  await run(["run", "--auto", "-m", "openai/m", "start"])
  const results = llm.requests.at(-1)?.messages.filter(({ role }) => role === "tool").map(({ content }) => content)
  expect(results).toHaveLength(calls.length)
  expect(JSON.stringify(llm.requests)).not.toContain("the-secret-key")
  for (const result of results?.slice(0, 3) ?? []) expect(result).toMatch(/denied|not available|no tool|Unknown tool/i)
})
