// A list that changes what is shown acts at once; without scripts its form has a button.
"use strict";
for (const list of document.querySelectorAll("select[data-submit]")) {
  list.addEventListener("change", () => list.form.submit());
}
for (const bar of document.querySelectorAll("[data-width]")) bar.style.width = bar.dataset.width + "%";
for (const box of document.querySelectorAll("input[data-all]")) {
  box.addEventListener("change", () => {
    for (const one of box.form.querySelectorAll("input[name=" + box.dataset.all + "]")) one.checked = box.checked;
  });
}
