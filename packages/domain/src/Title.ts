/** Decides how long a title may be. */

/** How many characters a title has at most that a person gives. */
export const longestTitle = 500

/** A title as lists show it: stored ones of older versions or of other programs may be of any length. */
export const listedTitle = (title: string): string =>
  title.length > longestTitle ? `${title.slice(0, longestTitle - 1).toWellFormed()}…` : title
