/** The built program and a repository, or a model, that names programs for git to run: none runs when Skein itself calls git. */
import { execFileSync } from "node:child_process"
import { appendFileSync, chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"
import { type LlmAnswer, startLlm } from "./support/llm.ts"

vi.setConfig({ testTimeout: 60_000 })

/** A repository, a program outside of it that leaves a trace, and a run in which a task changes a file in its worktree. */
const ground = async (before: ReadonlyArray<NonNullable<LlmAnswer["calls"]>> = []) => {
  const args = { description: "Write", prompt: "child", subagent_type: "general", isolation: "worktree" }
  const llm = await startLlm(({ messages, user }) => {
    const done = messages.filter(({ role }) => role === "tool").length
    if (user.some((text) => text.includes("in the git worktree"))) {
      return done > 0
        ? "I wrote it."
        : { calls: [{ tool: "write", args: { filePath: "b.txt", content: "made\n" } }] }
    }
    const calls = [...before, [{ tool: "task", args }]][done]
    return calls === undefined ? String(messages.at(-1)?.content) : { calls }
  })
  const place = sandbox({ llm: llm.url, files: { "a.txt": "a\n", ".gitattributes": "*.txt filter=evil diff=evil\n" } })
  atEnd(llm.close, place.remove)
  const git = (...line: ReadonlyArray<string>) =>
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@t", ...line], { cwd: place.project, stdio: "pipe" })
  git("add", ".")
  git("commit", "-qm", "first")
  const trace = join(place.home, "trace")
  const program = join(place.home, "program")
  writeFileSync(program, `#!/bin/sh\necho "$0 $*" >> '${trace}'\ncat\n`)
  chmodSync(program, 0o755)
  const section =
    `[filter "evil"]\n  smudge = ${program}\n  clean = ${program}\n[diff "evil"]\n  textconv = ${program}\n`
  /** What has run since the last look. */
  const ran = () => {
    const lines = existsSync(trace) ? readFileSync(trace, "utf8") : ""
    rmSync(trace, { force: true })
    return lines
  }
  const run = async () => {
    const ended = await place.run(["run", "-m", "openai/m", "--title", "t", "--auto", "--format", "quiet", "go"])
    expect(ended).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/no commits of its own\..* 1 file with changes/)
    })
    await place.run(["tasks", "clean", "--force"])
  }
  return { ...place, git, program, ran, run, section }
}

it("a repository's filters, hooks, monitor and helpers do not run, which git alone would run", async () => {
  const { git, program, project, ran, run, section } = await ground()
  appendFileSync(
    join(project, ".git", "config"),
    `${section}[core]\n  fsmonitor = ${program}\n  pager = ${program}\n  editor = ${program}\n[diff]\n  external = ${program}\n`
  )
  for (const hook of ["post-checkout", "post-index-change", "reference-transaction", "pre-commit"]) {
    writeFileSync(join(project, ".git", "hooks", hook), `#!/bin/sh\n${program} ${hook} < /dev/null\n`, { mode: 0o755 })
  }
  git("worktree", "add", "-q", "../other")
  git("worktree", "remove", "--force", "../other")
  git("status")
  expect(ran()).toContain("post-checkout")
  await run()
  expect(ran()).toBe("")
})

it("a filter that a model writes into a file which the user's config includes does not run", async () => {
  const made = await ground([[{
    tool: "bash",
    args: { command: "cp filters.draft team.gitconfig", description: "Sets filters up" }
  }]])
  const { git, project, ran, run, section } = made
  writeFileSync(join(project, "filters.draft"), section)
  appendFileSync(join(project, ".git", "config"), "[include]\n  path = ../team.gitconfig\n")
  await run()
  expect(readFileSync(join(project, "team.gitconfig"), "utf8")).toBe(section)
  expect(ran()).toBe("")
  // It stands where git itself finds it.
  writeFileSync(join(project, "a.txt"), "b\n")
  git("status")
  expect(ran()).toContain("program")
})
