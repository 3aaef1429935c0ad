"use strict";
// Marked lines and the step that differs come into sight.
for (const box of document.querySelectorAll(".code, .tall")) {
  const here = box.querySelector("tr.here, tr.at");
  if (here) box.scrollTop = here.offsetTop - box.clientHeight / 3;
}
for (const input of document.querySelectorAll(".filter")) {
  const rows = input.nextElementSibling.querySelectorAll("tbody tr");
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((w) => text.includes(w));
    }
  });
}
document.documentElement.dataset.ready = "yes";
