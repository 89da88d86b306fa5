/** The built program, its tasks: what is told of them, and what is left of them. */
import { execFileSync } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { afterEach, describe, expect, it, vi } from "vitest"
import { sandbox } from "./support/cli.ts"
import { type LlmAnswer, type LlmRequest, startLlm } from "./support/llm.ts"

vi.setConfig({ testTimeout: 60_000 })

const cleanup: Array<() => unknown> = []
afterEach(async () => {
  for (const each of cleanup.splice(0).toReversed()) await each()
})

describe("tasks", () => {
  const tree = (request: LlmRequest): LlmAnswer | string => {
    const last = request.messages.at(-1)
    const child = request.user.flatMap((text) => /child \w+$/.exec(text) ?? []).at(0)
    if (child !== undefined) {
      if (last?.role === "tool" || child === "child plain") return `${child} is done`
      return { calls: [{ tool: "write", args: { filePath: "new.txt", content: "made\n" } }] }
    }
    const task = (prompt: string, more: object) => ({
      tool: "task",
      args: { description: `Do ${prompt}`, prompt: `child ${prompt}`, subagent_type: "general", ...more }
    })
    return last?.role === "tool" ? "done" : { calls: [task("plain", {}), task("apart", { isolation: "worktree" })] }
  }
  const made = async () => {
    const llm = await startLlm(tree)
    const place = sandbox({ llm: llm.url, files: { "old.txt": "old\n" } })
    cleanup.push(llm.close, place.remove)
    for (const args of [["add", "."], ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "first"]]) {
      execFileSync("git", args, { cwd: place.project })
    }
    await place.run(["run", "-m", "openai/m", "--auto", "--title", "t", "--format", "quiet", "go"])
    return place
  }

  it("are listed, shown and waited for", async () => {
    const place = await made()
    const { code, stdout } = await place.run(["tasks"])
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^TASK +STATE +AGENT .*\nses_\w+ +completed +general .* Do plain\nses_\w+ +completed .* Do apart\n$/
    )
    const [run] = JSON.parse((await place.run(["tasks", "list", "--format", "json"])).stdout)
    expect(run).toMatchObject({ state: "settled", prompt: "child plain", outcome: { text: "child plain is done" } })
    expect((await place.run(["tasks", "show", run.taskID])).stdout).toContain("child plain\n\nchild plain is done\n")
    expect(await place.run(["tasks", "wait", run.taskID])).toMatchObject({ code: 0, stderr: "" })
    for (const command of ["show", "wait"]) {
      expect(await place.run(["tasks", command, "ses_x"])).toMatchObject({
        code: 2,
        stderr: "skein: There is no task ses_x. See `skein tasks` for those that there are.\n"
      })
    }
  })

  it("that have left a worktree keep it until it is cleared away by force", async () => {
    const place = await made()
    const shown = await place.run(["tasks", "clean"])
    const [, directory = ""] = /^kept {2}(\S+) {2}0 commits, 1 uncommitted files {2}Do apart\n$/.exec(shown.stdout) ??
      []
    expect(existsSync(join(directory, "new.txt"))).toBe(true)
    expect((await place.run(["tasks", "clean", "--force", "--dry-run"])).stdout).toMatch(/^would be removed /)
    expect(existsSync(directory)).toBe(true)
    expect((await place.run(["tasks", "clean", "--force"])).stdout).toMatch(/^removed /)
    expect(existsSync(directory)).toBe(false)
    expect((await place.run(["tasks", "clean"])).stderr).toBe("No task has left a worktree.\n")
  })
})
