/**
 * Widgets that every page uses: menus, popovers and dialogs. Their buttons are here. `floats.tsx` draws the rest, and is loaded after the first page, so
 * that no page waits for it. Other buttons are plain `button.btn`.
 */

import { lazy, type ReactNode, type RefObject, Suspense, useRef, useState } from "react"
import { useMessages } from "../messages/locale.tsx"
import type { DialogProps, MenuEntry, Placement } from "./floats.tsx"

export type { MenuEntry } from "./floats.tsx"

const loadFloats = () => import("./floats.tsx")
const FloatingMenu = lazy(() => loadFloats().then(({ FloatingMenu }) => ({ default: FloatingMenu })))
const FloatingBox = lazy(() => loadFloats().then(({ FloatingBox }) => ({ default: FloatingBox })))
const ModalDialog = lazy(() => loadFloats().then(({ ModalDialog }) => ({ default: ModalDialog })))

/** Loads `floats.tsx` in advance, so that menus open at once, also without a connection. */
export const prepareFloats = (): void => void loadFloats().catch(() => undefined)

interface ButtonProps {
  /** The content of the button. */
  readonly children: ReactNode
  readonly className?: string | undefined
  readonly placement?: Placement | undefined
  /** The button's accessible name, if its content is not a text. */
  readonly name?: string | undefined
}

export interface MenuProps extends ButtonProps {
  /** The menu's name. */
  readonly label: string
  readonly entries: readonly MenuEntry[]
}

/** The button that opens a menu or popover. */
const Opener = (
  { anchor, children, className, name, onOpen, open, popup, tabIndex }: Omit<ButtonProps, "placement"> & {
    readonly anchor: RefObject<HTMLButtonElement | null>
    readonly open: boolean
    readonly popup: "menu" | "dialog"
    readonly tabIndex?: number | undefined
    readonly onOpen: () => void
  }
): ReactNode => (
  <button
    type="button"
    ref={anchor}
    className={className}
    tabIndex={tabIndex}
    aria-label={name}
    aria-haspopup={popup}
    aria-expanded={open}
    onClick={({ currentTarget }) => {
      // Safari does not focus a clicked button. The popover returns the focus to it later.
      currentTarget.focus()
      onOpen()
    }}
  >
    {children}
  </button>
)

/** A button with a menu. */
export const Menu = ({ entries, label, placement, ...button }: MenuProps): ReactNode => {
  const anchor = useRef<HTMLButtonElement>(null)
  const [open, setOpen] = useState(false)
  return (
    <>
      <Opener {...button} anchor={anchor} popup="menu" open={open} onOpen={() => setOpen(true)} />
      {open && (
        <Suspense fallback={null}>
          <FloatingMenu
            anchor={anchor}
            label={label}
            placement={placement}
            entries={entries}
            onClose={() => setOpen(false)}
          />
        </Suspense>
      )}
    </>
  )
}

export interface BoxProps extends ButtonProps {
  /** The popover's accessible name. */
  readonly label: string
  /** The content, rendered when it opens. */
  readonly content: (close: () => void) => ReactNode
  readonly boxClass?: string | undefined
  readonly tabIndex?: number | undefined
  /** Whether it is open, if the parent controls that. */
  readonly open?: boolean
  readonly onOpenChange?: (open: boolean) => void
}

/** A button with a popover of any content. */
export const Box = (props: BoxProps): ReactNode => {
  const { boxClass, content, label, onOpenChange, open: told, placement, ...button } = props
  const anchor = useRef<HTMLButtonElement>(null)
  const [own, setOwn] = useState(false)
  const open = told ?? own
  const put = onOpenChange ?? setOwn
  const close = (): void => put(false)
  return (
    <>
      <Opener {...button} anchor={anchor} popup="dialog" open={open} onOpen={() => put(true)} />
      {open && (
        <Suspense fallback={null}>
          <FloatingBox anchor={anchor} label={label} placement={placement} boxClass={boxClass} onClose={close}>
            <Suspense fallback={null}>{content(close)}</Suspense>
          </FloatingBox>
        </Suspense>
      )}
    </>
  )
}

/** A dialog. It is open while it is rendered. */
export const Dialog = (props: DialogProps): ReactNode => (
  <Suspense fallback={null}>
    <ModalDialog {...props} />
  </Suspense>
)

/** The button that closes a dialog without an action. */
export const Cancel = ({ onPress }: { readonly onPress: () => void }): ReactNode => {
  const t = useMessages()
  return <button type="button" className="btn quiet" onClick={onPress}>{t.shell.cancel}</button>
}
