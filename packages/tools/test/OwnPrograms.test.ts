/** Skein runs bash, git and other programs itself, from no place that a session or a project could have changed. */
import type * as OwnPrograms from "@skein/tools/OwnPrograms"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"

// What is distrusted stays so in a process, so each test has its own.
let own: typeof OwnPrograms
let top = ""
const at = (...names: ReadonlyArray<string>) => join(top, ...names)

const plant = (file: string): string => {
  fs.mkdirSync(join(file, ".."), { recursive: true })
  fs.writeFileSync(file, "#!/bin/sh\n", { mode: 0o755 })
  return file
}

const repository = (directory: string): string => {
  execFileSync("git", ["init", "-q", directory])
  execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "--allow-empty", "-m", "x"], {
    cwd: directory
  })
  return directory
}

describe("a program that Skein runs itself", () => {
  beforeEach(async () => {
    vi.resetModules()
    own = await import("@skein/tools/OwnPrograms")
    top = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), "skein-own-")))
    vi.stubEnv("HOME", at("home"))
    plant(at("machine/tool"))
  })
  afterEach(() => {
    vi.unstubAllEnvs()
    fs.rmSync(top, { recursive: true, force: true })
  })

  const found = (directory: string, ...entries: ReadonlyArray<string>) =>
    own.ownProgram("tool", [...entries, at("machine")].join(delimiter), directory)

  it("is none of the repository around the session's directory", () => {
    const project = repository(at("home/project"))
    plant(at("home/project/.venv/bin/tool"))
    fs.mkdirSync(join(project, "src/deep"), { recursive: true })
    for (const directory of [project, join(project, "src/deep")]) {
      expect(found(directory, join(project, ".venv/bin"))).toBe(at("machine/tool"))
    }
  })

  it("is none of the repository of a worktree, nor of one around a submodule", () => {
    const project = repository(at("home/project"))
    plant(join(project, "bin/tool"))
    execFileSync("git", ["worktree", "add", "-q", at("data/tree")], { cwd: project, stdio: "ignore" })
    expect(found(at("data/tree"), join(project, "bin"))).toBe(at("machine/tool"))
    const inner = repository(join(project, "vendor/inner"))
    expect(found(inner, join(project, "bin"))).toBe(at("machine/tool"))
  })

  it("is none of what is around the session's directory in the home, where no repository says where it begins", () => {
    plant(at("home/project/bin/tool"))
    plant(at("home/.local/bin/tool"))
    fs.mkdirSync(at("home/project/src"), { recursive: true })
    expect(found(at("home/project/src"), at("home/project/bin"))).toBe(at("machine/tool"))
    expect(found(at("home/project/src"), at("home/.local/bin"))).toBe(at("home/.local/bin/tool"))
  })

  it("is none of the project of another session of this process", () => {
    const [one, other] = [repository(at("home/one")), repository(at("home/other"))]
    plant(join(one, "bin/tool"))
    found(one)
    expect(found(other, join(one, "bin"))).toBe(at("machine/tool"))
  })

  it("is none to which a link leads, of a directory or of the program", () => {
    const project = repository(at("home/project"))
    plant(join(project, "bin/tool"))
    fs.mkdirSync(at("home/bin"))
    fs.symlinkSync(join(project, "bin"), at("home/linked"))
    fs.symlinkSync(join(project, "bin/tool"), at("home/bin/tool"))
    expect(found(project, at("home/linked"), at("home/bin"))).toBe(at("machine/tool"))
  })

  it("is none of a relative directory, nor of any node_modules/.bin; and nothing is run in its place", () => {
    const project = repository(at("home/project"))
    plant(at("else/node_modules/.bin/tool"))
    const path = ["", ".", "bin", at("else/node_modules/.bin")]
    expect(found(project, ...path)).toBe(at("machine/tool"))
    expect(own.ownProgram("tool", path.join(delimiter), project)).not.toContain(top)
    expect(own.ownEnvironment({ PATH: path.join(delimiter) }, project).PATH).toBe("/nowhere")
  })

  it("ends, whatever the .git files of a project name", () => {
    for (const [name, other] of [["a", "b"], ["b", "a"]] as const) {
      fs.mkdirSync(at(`home/${name}/sub/.git/x`), { recursive: true })
      fs.writeFileSync(at(`home/${name}/.git`), `gitdir: ${at(`home/${other}/sub/.git/x`)}\n`)
    }
    expect(found(at("home/a"))).toBe(at("machine/tool"))
  })

  it("finds none of the project by name, and what users name finds the machine's first", () => {
    const project = repository(at("home/project"))
    const environment = { PATH: [join(project, "bin"), at("machine")].join(delimiter), OTHER: "x" }
    expect(own.ownEnvironment(environment, project)).toEqual({ PATH: at("machine"), OTHER: "x" })
    expect(own.machineFirst(environment, project).PATH).toBe([at("machine"), join(project, "bin")].join(delimiter))
  })
})
