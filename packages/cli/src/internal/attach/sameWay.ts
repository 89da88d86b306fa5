/** Decides which flags a printed command needs to reach the sessions that were just worked on. */
import type { AttachFlags } from "./attach.ts"

/** Whether a shell takes it as it is. */
const isPlain = (text: string): boolean => /^[\w@%+=:,./-]+$/.test(text)

const quoted = (text: string): string => isPlain(text) ? text : `'${text.replaceAll("'", "'\\''")}'`

/** A URL with a password is not repeated. */
const hasPassword = (database: string): boolean => URL.canParse(database) && new URL(database).password !== ""

/** The flags, each after a space. What comes from the environment holds for the next command as well. */
export const sameWay = ({ attach, db }: AttachFlags): string => {
  const named = attach === undefined || attach === "auto" || attach === "off" ? "" : ` --attach=${quoted(attach)}`
  const kept = db === undefined ? "" : ` --db ${hasPassword(db) ? "URL" : quoted(db)}`
  return `${named}${kept}`
}
