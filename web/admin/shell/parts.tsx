/** The few widgets that every page uses, over React Aria: menus, dialogs and pop-overs with the app's looks. Buttons are plain `button.btn`. */

import type { ReactNode } from "react"
import {
  Dialog as AriaDialog,
  Header,
  Heading,
  Menu as AriaMenu,
  MenuItem as AriaMenuItem,
  MenuSection,
  MenuTrigger,
  Modal,
  ModalOverlay,
  Popover as AriaPopover,
  Separator
} from "react-aria-components"
import type { MenuItemProps, MenuTriggerProps, PopoverProps } from "react-aria-components"
import { useMessages } from "../messages/locale.tsx"

interface MenuProps {
  /** What opens it: a React Aria `Button`. */
  readonly trigger: ReactNode
  readonly children: ReactNode
  readonly label?: string
  readonly placement?: PopoverProps["placement"]
  readonly onOpenChange?: MenuTriggerProps["onOpenChange"]
}

/** A button with a menu. Children are `Item`, `Section` and `Line`. */
export const Menu = ({ children, label, onOpenChange, placement = "bottom end", trigger }: MenuProps): ReactNode => (
  <MenuTrigger {...(onOpenChange === undefined ? {} : { onOpenChange })}>
    {trigger}
    <AriaPopover className="float" placement={placement} offset={4}>
      <AriaMenu className="menu" {...(label === undefined ? {} : { "aria-label": label })}>{children}</AriaMenu>
    </AriaPopover>
  </MenuTrigger>
)

export const Item = (
  { className = "", ...rest }: Omit<MenuItemProps, "className"> & { readonly className?: string }
) => <AriaMenuItem {...rest} className={`menu-item ${className}`} />

export const Section = ({ children, label }: { readonly label: string; readonly children: ReactNode }): ReactNode => (
  <MenuSection>
    <Header className="menu-head">{label}</Header>
    {children}
  </MenuSection>
)

export const Line = (): ReactNode => <Separator className="menu-line" />

interface DialogProps {
  readonly title: string
  /** A sentence below the title. */
  readonly text?: ReactNode
  readonly children?: ReactNode
  /** The buttons. */
  readonly footer?: ReactNode
  readonly onClose: () => void
  /** Asks about something that cannot be undone. */
  readonly alert?: boolean
  readonly className?: string
  /** False: only its buttons close it. */
  readonly dismissable?: boolean
}

/** A dialog that is open as long as it is rendered. */
export const Dialog = (
  { alert = false, children, className = "", dismissable = true, footer, onClose, text, title }: DialogProps
): ReactNode => (
  <ModalOverlay
    className="scrim"
    isOpen
    isDismissable={dismissable && !alert}
    isKeyboardDismissDisabled={!dismissable}
    onOpenChange={(open) => !open && onClose()}
  >
    <Modal className={`float dialog ${className}`}>
      <AriaDialog role={alert ? "alertdialog" : "dialog"}>
        <header>
          <Heading slot="title">{title}</Heading>
          {text !== undefined && <p>{text}</p>}
        </header>
        {children !== undefined && <div className="body">{children}</div>}
        {footer !== undefined && <footer>{footer}</footer>}
      </AriaDialog>
    </Modal>
  </ModalOverlay>
)

/** The button that closes a dialog without doing anything. */
export const Cancel = ({ onPress }: { readonly onPress: () => void }): ReactNode => {
  const t = useMessages()
  return <button type="button" className="btn quiet" onClick={onPress}>{t.shell.cancel}</button>
}
