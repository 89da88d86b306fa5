import { describe, expect, it } from "vitest"
import { isRemoteName, readStep, refOf, remoteOf, stepMessage } from "../../src/internal/workspace/stepGit.ts"

const urlOf = (written: string, local?: string) => {
  const found = remoteOf(written, local)
  return "url" in found ? found.url : undefined
}

describe("the address of a repository", () => {
  it.each([
    ["https://git.example/a/b.git"],
    ["ssh://git@git.example:22/a/b.git"],
    ["git@git.example:a/b.git"],
    ["git.example:b.git"]
  ])("may be %s", (written) => {
    expect(urlOf(written)).toBe(written)
    expect(remoteOf(written, undefined)).toMatchObject({ protocols: "https:ssh" })
  })

  it("loses what it says of a password", () => {
    expect(urlOf("https://ada:secret@git.example/b.git")).toBe("https://git.example/b.git")
    expect(urlOf("https://token@git.example/b.git")).toBe("https://git.example/b.git")
    expect(urlOf("ssh://git:secret@git.example/b.git")).toBe("ssh://git@git.example/b.git")
  })

  it.each([
    ["ext::sh -c id"],
    ["ext::sh"],
    ["fd::17"],
    ["transport::https://git.example/b.git"],
    ["--upload-pack=id"],
    ["-oProxyCommand=id"],
    ["ssh://-oProxyCommand=id/b.git"],
    ["ssh://%2DoProxyCommand=id/b.git"],
    ["ssh://-oProxyCommand=id@git.example/b.git"],
    ["git@-oProxyCommand=id:b.git"],
    ["-oProxyCommand=id:b.git"],
    ["git.example:--upload-pack=id"],
    ["git@git.example:-x"],
    ["git://git.example/b.git"],
    ["http://git.example/b.git"],
    ["ftp://git.example/b.git"],
    ["file:///srv/b.git"],
    ["/srv/b.git"],
    ["../b.git"],
    ["b.git"],
    ["https:///b.git"],
    ["https://"],
    [""],
    ["https://git.example/b.git\nremote.x.url=y"],
    ["https://git.example/\u0000"],
    ["https://git.example/ b"]
  ])("is never %j", (written) => {
    expect(urlOf(written)).toBeUndefined()
  })

  it("is never longer than any address", () => {
    expect(urlOf(`https://git.example/${"b".repeat(2_000)}`)).toBeUndefined()
  })

  it("is a directory only if the user of this host names just that", () => {
    expect(remoteOf("/srv/b.git", "/srv/b.git")).toEqual({ url: "/srv/b.git", protocols: "file" })
    expect(urlOf("/srv/c.git", "/srv/b.git")).toBeUndefined()
    expect(urlOf("file:///srv/b.git", "/srv/b.git")).toBeUndefined()
    expect(urlOf("ext::sh", "ext::sh")).toBeUndefined()
  })
})

it("the name of a remote is no address and no option", () => {
  for (const name of ["origin", "up-stream", "team/fork"]) expect(isRemoteName(name)).toBe(true)
  for (const name of ["-f", "--all", "a b", "/srv/b.git", "git@git.example:b", "https://x/y", ""]) {
    expect(isRemoteName(name)).toBe(false)
  }
})

describe("the commit of a step", () => {
  const sha = "1".repeat(40)
  const text = (message: string) => `tree ${sha}\nparent ${sha}\nauthor A <a> 1 +0\ncommitter A <a> 1 +0\n\n${message}`
  const step = { rootID: "ses_1", epoch: 2, seq: 17, branch: "feature/a.b" }

  it("says whose it is, and which step", () => {
    expect(readStep(text(stepMessage(step)))).toEqual({ ...step, head: sha, tree: sha })
    expect(readStep(text(stepMessage({ ...step, branch: undefined })))).toMatchObject({ branch: undefined })
  })

  it.each(["-b", "a..b", "a b", "../x", "a.lock", "a/", "@{1}", "a/.b", "a:b"])("names no branch %j", (branch) => {
    expect(readStep(text(stepMessage({ ...step, branch })))).toMatchObject({ branch: undefined })
  })

  it("is nothing else", () => {
    expect(readStep(text("Hello\n"))).toBeUndefined()
    expect(readStep(text(stepMessage({ ...step, epoch: -1 })))).toBeUndefined()
    expect(readStep(text(stepMessage(step)).replace("parent", `parent ${sha}\nparent`))).toBeUndefined()
  })

  it("has a place that names nothing but a session", () => {
    expect(refOf("ses_01ABC" as never)).toBe("refs/skein/ses_01ABC")
    for (const id of ["ses_../../heads/main", "-f", "ses_", "ses_a b", "ses_a:refs/heads/main"]) {
      expect(refOf(id as never)).toBeUndefined()
    }
  })
})
