/**
 * Lists the protected names: changing such a file would change what runs, or what is allowed, later. A person is asked
 * each time.
 */

/** Directories in which everything is protected, at any depth: what git, editors, agents and hook managers run or obey. */
const directories = new Set(
  [".git", ".skein", ".opencode", ".claude", ".agents", ".cursor", ".codex", ".gemini", ".windsurf", ".roo", ".kiro"]
    .concat([".continue", ".junie", ".amazonq", ".vscode", ".idea", ".zed", ".devcontainer", ".husky", ".lefthook"])
)

/** The files of hook managers, with the endings that they may have. */
const hookManagers =
  /^(?:\.?lefthook(?:-local)?|\.?pre-commit-config|\.huskyrc|\.?simple-git-hooks|\.overcommit|\.?captainhook|grumphp)\.(?:ya?ml|toml|jsonc?|c?js)$/

/** Files that are protected wherever they are. */
const files = new Set([
  // Skein and other agents: config, and the instructions that they obey.
  ...["skein.json", "skein.jsonc", "opencode.json", "opencode.jsonc", ".mcp.json", ".aider.conf.yml"],
  ...["agents.md", "agents.override.md", "claude.md", "claude.local.md", "gemini.md"],
  ...[".cursorrules", ".windsurfrules", ".clinerules", ".roorules", ".goosehints", ".rules"],
  // Git, package managers and tools that read their config from where they are started.
  ...[".gitmodules", ".gitconfig", ".ripgreprc", ".npmrc", ".yarnrc", ".yarnrc.yml"],
  ...[".envrc", "mise.toml", ".mise.toml", "mise.local.toml", ".mise.local.toml"],
  // Editors, debuggers and interpreters that run a file of the directory that they are started in.
  ...[".exrc", ".vimrc", ".nvimrc", ".nvim.lua", ".dir-locals.el", ".gdbinit", ".lldbinit", ".pdbrc", ".rprofile"],
  ...[".renviron", ".huskyrc", ".irbrc", ".pryrc", ".ghci", ".ocamlinit"],
  // Shells.
  ...[".profile", ".login", ".logout", ".inputrc", "config.fish", ".kshrc", ".cshrc", ".tcshrc"],
  ...[".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases"],
  ...[".zshrc", ".zprofile", ".zshenv", ".zlogin", ".zlogout"]
])

/** Files that are protected in a directory that is not: its name, and theirs. */
const inDirectories: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  [".cargo", new Set(["config", "config.toml"])],
  [".github", new Set(["agents", "copilot-instructions.md", "hooks", "instructions"])]
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

/** Whether a folded name is protected wherever it is. */
const isProtectedName = (name: string): boolean => directories.has(name) || files.has(name) || hookManagers.test(name)

/** Whether a pattern of hidden names matches a protected one. */
export const mayBeProtected = (fits: (name: string) => boolean): boolean =>
  [...directories, ...files, ...inDirectories.keys()].some((name) => name.startsWith(".") && fits(name))

/** Whether a path is a plan, which is not protected. */
export const isPlan = (path: string): boolean => /^\.skein\/plans\/[^/]+\.md$/i.test(path)

/** Whether a path, with `/` between its names, is protected. Plans (`.skein/plans/*.md`) are not. */
export const isProtected = (path: string): boolean => {
  const names = path.split("/").filter((name) => name !== "" && name !== ".").map(fold)
  const last = names.at(-1) ?? ""
  if (names.length === 3 && names[0] === ".skein" && names[1] === "plans" && last.endsWith(".md")) return false
  return files.has(last) || hookManagers.test(last)
    || names.some((name, at) => directories.has(name) || inDirectories.get(names[at - 1] ?? "")?.has(name) === true)
}

/** Files that a login or the user's programs read, wherever the working directory is below the home. */
const ofHome = new Set([
  ".config",
  ".gnupg",
  ".local",
  ".netrc",
  ".pam_environment",
  ".ssh"
])

/** Whether a name at the top of a tree is protected, except `.git`, which has rules of its own. */
export const isProtectedAtTop = (name: string, isHome: boolean): boolean => {
  const folded = fold(name)
  return folded !== ".git" && (isProtectedName(folded) || (isHome && ofHome.has(folded)))
}

/** The protected names in directories at the top that are not protected themselves. */
export const protectedBelow: ReadonlyArray<readonly [directory: string, isNamed: (name: string) => boolean]> = [
  ...inDirectories
].map(([directory, names]) => [directory, (name) => names.has(fold(name))])

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
