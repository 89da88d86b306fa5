/** Decides how long a title may be. */

/** How many characters a title has at most that a person gives. */
export const longestTitle = 500
