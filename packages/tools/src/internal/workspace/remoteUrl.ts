/** Decides which repositories steps are kept in: by https or ssh, or a directory that the user of this host names. */

/** A repository that may be used, or why it may not. */
export type Remote =
  | { readonly url: string; readonly protocols: string }
  | { readonly why: string }

/** Longer ones are no addresses. */
const longest = 2_000

const overNetwork = "https:ssh"

const scp = /^(?:[A-Za-z0-9_][\w.+-]*@)?[A-Za-z0-9][\w.-]*:(?![/:]{2}|:|-)[^\s]+$/

const isPlainName = (name: string): boolean => !name.startsWith("-") && !decodeURIComponent(name).startsWith("-")

/** An address with a scheme. What it says of a password stays on this host. */
const withScheme = (written: string): Remote => {
  let url
  try {
    url = new URL(written)
    if (url.hostname === "" || !isPlainName(url.hostname) || !isPlainName(url.username)) throw new Error("no host")
  } catch {
    return { why: "it is no valid URL" }
  }
  if (url.protocol !== "https:" && url.protocol !== "ssh:") {
    return { why: `only https and ssh are used, and it says ${url.protocol.slice(0, -1)}` }
  }
  url.password = ""
  if (url.protocol === "https:") url.username = ""
  return { url: url.href, protocols: overNetwork }
}

/** Checks an address. `local` is the one that the user of this host names: a directory counts only if it is that. */
export const remoteOf = (written: string, local: string | undefined): Remote => {
  // oxlint-disable-next-line no-control-regex -- those that could end a line of a config or a request
  if (written.length > longest || /[\u0000-\u0020\u007F]/.test(written) || written.startsWith("-")) {
    return { why: "it is no address of a repository" }
  }
  if (/^[^/]*::/.test(written)) return { why: "it names a program, which Skein does not run" }
  if (written.startsWith("/") || written.startsWith("file:")) {
    return written === local
      ? { url: written, protocols: "file" }
      : { why: "it is a directory, and `workspace_remote` in the config of the user of this host does not name it" }
  }
  if (/^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/]/.test(written)) return withScheme(written)
  return scp.test(written) ? { url: written, protocols: overNetwork } : { why: "it is no URL, and no user@host:path" }
}

/** Whether a name is that of a remote, and can be nothing else. */
export const isRemoteName = (name: string): boolean => /^[A-Za-z0-9_][\w.-]*(?:\/[\w.-]+)*$/.test(name)
