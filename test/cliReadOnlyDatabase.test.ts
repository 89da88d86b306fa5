/** The built program with a database where nothing can be written: commands that only read still do. Needs unshare and mount. */
import { spawnSync } from "node:child_process"
import { statSync } from "node:fs"
import { dirname } from "node:path"
import { expect, it, vi } from "vitest"
import { program, sandbox } from "./support/cli.ts"
import { startLlm } from "./support/llm.ts"

vi.setConfig({ testTimeout: 60_000 })

/** Runs a command with mounts of its own. */
const apart = "/usr/bin/unshare"

const mounts = spawnSync(apart, ["-m", "mount", "--bind", "/tmp", "/tmp"]).status === 0

it.skipIf(!mounts)("is read with what lies only in its log, and refused to commands that write", async () => {
  const llm = await startLlm(() => ({ hangs: true }))
  const place = sandbox({ llm: llm.url })
  try {
    const running = place.start(["run", "-m", "openai/m", "--title", "in the log", "go"])
    await llm.asked(1)
    running.child.kill("SIGKILL")
    await running.ended
    expect(statSync(`${place.database}-wal`).size).toBeGreaterThan(0)
    const skein = (...args: ReadonlyArray<string>) => {
      const script = "mount -o ro,bind \"$0\" \"$0\" && exec \"$@\""
      return spawnSync("unshare", [
        "-m",
        "sh",
        "-c",
        script,
        dirname(place.database),
        process.execPath,
        program,
        ...args
      ], {
        cwd: place.project,
        env: place.env(),
        encoding: "utf8"
      })
    }
    const listed = skein("sessions", "list", "--format", "json")
    expect(listed.stderr).not.toContain("cannot be written")
    const [{ id, title }] = JSON.parse(listed.stdout) as [{ id: string; title: string }]
    expect(title).toBe("in the log")
    expect(skein("sessions", "show", id)).toMatchObject({ status: 0, stdout: expect.stringContaining("go") })
    expect(skein("sessions", "rename", id, "x")).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("cannot be written")
    })
  } finally {
    await llm.close()
    place.remove()
  }
})
