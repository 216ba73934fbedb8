/** The list of all keyboard shortcuts. */

import type { ReactNode } from "react"
import { useApp } from "../ground/app.ts"
import { shownKeys } from "../ground/keys.ts"
import { Dialog } from "../ground/parts.tsx"
import { useMessages } from "../messages/locale.tsx"
import style from "./palette.module.css"

export const Shortcuts = ({ onClose }: { readonly onClose: () => void }): ReactNode => {
  const t = useMessages()
  const { catalogue } = useApp()
  const groups: ReadonlyArray<readonly [string, ReadonlyArray<readonly [string, ...string[]]>]> = [
    [t.keys.everywhere, [
      [t.keys.palette, "mod+k"],
      [t.keys.undo, "mod+z"],
      [t.keys.back, "Escape"],
      [t.keys.shortcuts, "?"],
      ...[...catalogue.letters].map(([letter, { view }]) => [view.label.plural, `g ${letter}`] as const)
    ]],
    [t.keys.inLists, [
      [t.keys.filter, "/", "f"],
      [t.keys.newOne, "n"],
      [t.keys.move, "j", "k"],
      [t.keys.open, "Enter"],
      [t.keys.edit, "e", "F2"],
      [t.keys.peek, "Space"],
      [t.keys.select, "x", "shift+Space"],
      [t.keys.selectRange, "shift+↓"],
      [t.range.paste, "mod+v"],
      [t.range.fill, "mod+d"],
      [t.range.clear, "Delete"],
      [t.keys.selectAll, "mod+a"],
      [t.keys.copy, "mod+c"],
      [t.keys.first, "mod+Home", "mod+End"],
      [t.keys.page, "PageUp", "PageDown"]
    ]],
    [t.keys.inCalendars, [
      [t.keys.takeRecord, "Space"],
      [t.keys.day, "←", "→", "↑", "↓"],
      [t.keys.period, "PageUp", "PageDown"],
      [t.calendar.today, "t"],
      [t.keys.allOfDay, "Enter"],
      [t.keys.newOnDay, "n"],
      [t.keys.peek, "p"]
    ]],
    [t.keys.inBoards, [
      [t.keys.takeCard, "Space"],
      [t.keys.card, "j", "k"],
      [t.keys.column, "←", "→"]
    ]],
    [t.keys.beside, [
      [t.keys.neighbour, "j", "k"],
      [t.keys.editRecord, "e"],
      [t.keys.wide, "alt+Enter"],
      [t.keys.full, "shift+Enter"],
      [t.keys.back, "Escape"]
    ]],
    [t.keys.inRecords, [
      [t.keys.save, "mod+s"],
      [t.keys.neighbour, "j", "k"],
      [t.keys.back, "Escape"]
    ]]
  ]
  return (
    <Dialog title={t.keys.title} onClose={onClose}>
      <div className={style.table}>
        {groups.map(([title, rows]) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {rows.map(([label, ...combinations]) => (
                <div key={`${label} ${combinations.join(" ")}`}>
                  <dt>{label}</dt>
                  <dd>
                    {combinations.flatMap((combination, index) => [
                      ...(index === 0 ? [] : [<span key={combination} className="dim">/</span>]),
                      ...shownKeys(combination).map((key) => <kbd key={`${combination} ${key}`}>{key}</kbd>)
                    ])}
                  </dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  )
}
