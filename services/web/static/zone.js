// Chooses the browser's own time zone in a form that nobody has filled in yet.

export function chooseZone(select) {
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if ([...select.options].some((option) => option.value === own)) select.value = own;
}
