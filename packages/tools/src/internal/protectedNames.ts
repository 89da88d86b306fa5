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

/** A name as a file system may compare it that knows no case, and only one of the ways to write an accent. */
const fold = (name: string): string => name.normalize("NFC").replace(invisible, "").toLowerCase()

/** Whether a path, with `/` between its names, is protected. Plans (`.skein/plans/*.md`) are not. */
export const isProtected = (path: string): boolean => {
  const names = path.split("/").filter((name) => name !== "" && name !== ".").map(fold)
  const last = names.at(-1) ?? ""
  if (names.length === 3 && names[0] === ".skein" && names[1] === "plans" && last.endsWith(".md")) return false
  return files.has(last) || names.some((name) => directories.has(name))
}
