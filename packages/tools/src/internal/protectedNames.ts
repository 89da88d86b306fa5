/** The names whose change would change what runs, or what is allowed, later: a person is asked for them each time. */

/** Directories of which everything is protected, at any depth. */
const directories = new Set([".git", ".skein", ".opencode", ".claude", ".vscode", ".idea"])

/** Files that are protected wherever they are. */
const files = new Set([
  "skein.json",
  "skein.jsonc",
  "opencode.json",
  "opencode.jsonc",
  ".mcp.json",
  ".gitmodules",
  ".gitconfig",
  ".ripgreprc",
  ".envrc",
  "agents.md",
  "claude.md",
  ".profile",
  ".login",
  ".logout",
  ".bashrc",
  ".bash_profile",
  ".bash_login",
  ".bash_logout",
  ".bash_aliases",
  ".zshrc",
  ".zprofile",
  ".zshenv",
  ".zlogin",
  ".zlogout",
  ".kshrc",
  ".cshrc",
  ".tcshrc",
  ".inputrc",
  "config.fish"
])

const invisible = /[\u00AD\u200B-\u200F\u202A-\u202E\u2060-\u206F\uFEFF]/g

/**
 * A name as a file system may compare it: one that knows no case, only one of the ways to write an accent, no dots or
 * blanks at the end, streams behind a colon, and short names.
 */
const fold = (name: string): string => {
  const plain = name.normalize("NFC").replace(invisible, "").replace(/:.*$/, "").replace(/[. ]+$/, "")
  const lower = plain.toUpperCase().toLowerCase()
  return lower === "git~1" ? ".git" : lower
}

/** Whether a pattern of names is one of hidden names, of which a protected one fits. */
export const mayBeProtected = (fits: (name: string) => boolean): boolean =>
  [...directories, ...files].some((name) => name.startsWith(".") && fits(name))

/** Whether a path is that of a plan, which is not protected. */
export const isPlan = (path: string): boolean => /^\.skein\/plans\/[^/]+\.md$/i.test(path)

/** Whether a path, with `/` between its names, is protected. Plans (`.skein/plans/*.md`) are not. */
export const isProtected = (path: string): boolean => {
  const names = path.split("/").filter((name) => name !== "" && name !== ".").map(fold)
  const last = names.at(-1) ?? ""
  if (names.length === 3 && names[0] === ".skein" && names[1] === "plans" && last.endsWith(".md")) return false
  return files.has(last) || names.some((name) => directories.has(name))
}

/** What a login, or programs of the user, go by, wherever below the home the working directory lies. */
const ofHome = new Set([
  ".config",
  ".gnupg",
  ".local",
  ".netrc",
  ".npmrc",
  ".pam_environment",
  ".ssh"
])

/**
 * Whether a path is protected because it lies in the user's home: its hidden names, and all of it where a home is only part
 * of the working directory. What the working directory itself lies in is not.
 */
export const isProtectedInHome = (real: string, directory: string, home: string): boolean => {
  if (real !== home && !real.startsWith(`${home}/`)) return false
  const [top = ""] = real.slice(home.length + 1).split("/", 1)
  if (isBelow(home, directory)) return home !== directory || top.startsWith(".")
  return ofHome.has(fold(top)) && !isBelow(directory, `${home}/${top}`)
}

const isBelow = (path: string, directory: string): boolean =>
  path === directory || path.startsWith(directory.endsWith("/") ? directory : `${directory}/`)
