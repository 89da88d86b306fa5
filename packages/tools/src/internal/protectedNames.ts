/**
 * Lists the protected names: changing such a file would change what runs, or what is allowed, later. A person is asked
 * each time.
 */

/** Directories in which everything is protected, at any depth. */
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
 * A name as a file system may compare it: ignoring case, forms of accents, dots and blanks at the end, streams after a
 * colon, and short names.
 */
const fold = (name: string): string => {
  const plain = name.normalize("NFC").replace(invisible, "").replace(/:.*$/, "").replace(/[. ]+$/, "")
  const lower = plain.toUpperCase().toLowerCase()
  return lower === "git~1" ? ".git" : lower
}

/** Whether a pattern of hidden names matches a protected one. */
export const mayBeProtected = (fits: (name: string) => boolean): boolean =>
  [...directories, ...files].some((name) => name.startsWith(".") && fits(name))

/** Whether a path is a plan, which is not protected. */
export const isPlan = (path: string): boolean => /^\.skein\/plans\/[^/]+\.md$/i.test(path)

/** Whether a path, with `/` between its names, is protected. Plans (`.skein/plans/*.md`) are not. */
export const isProtected = (path: string): boolean => {
  const names = path.split("/").filter((name) => name !== "" && name !== ".").map(fold)
  const last = names.at(-1) ?? ""
  if (names.length === 3 && names[0] === ".skein" && names[1] === "plans" && last.endsWith(".md")) return false
  return files.has(last) || names.some((name) => directories.has(name))
}

/** Files that a login or the user's programs read, wherever the working directory is below the home. */
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
 * Whether a path is protected because it is in the user's home: its hidden names, and all of it if a home is only part
 * of the working directory. The ancestors of the working directory are not.
 */
export const isProtectedInHome = (real: string, directory: string, home: string): boolean => {
  if (real !== home && !real.startsWith(`${home}/`)) return false
  const [top = ""] = real.slice(home.length + 1).split("/", 1)
  if (isBelow(home, directory)) return home !== directory || top.startsWith(".")
  return ofHome.has(fold(top)) && !isBelow(directory, `${home}/${top}`)
}

const isBelow = (path: string, directory: string): boolean =>
  path === directory || path.startsWith(directory.endsWith("/") ? directory : `${directory}/`)
