#include "decision/self_check_rows.h"

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include "assay/built_in_check.h"

namespace assay::decision {
namespace {

// Written by us and copied from no benchmark. No prompt, model or readout was chosen by how well it does here.
// Balance: 20 choice rows (3, 4 and 5 options: 3, 12 and 5 rows, every gold position equally often within each),
// 16 yes/no rows (answer, order of the options and presence of criteria fully crossed, twice) and 12 scale rows
// (3, 4 and 5 levels: every level is the answer once).

using Described = std::pair<const char*, const char*>;

std::vector<Option> described(std::initializer_list<Described> options) {
  std::vector<Option> out;
  for (const auto& [id, text] : options) out.push_back(Option{std::string(id), std::string(text)});
  return out;
}

std::vector<Option> named(std::initializer_list<const char*> ids) {
  std::vector<Option> out;
  for (const char* id : ids) out.push_back(Option{std::string(id), std::nullopt});
  return out;
}

std::vector<Option> levels(std::initializer_list<const char*> texts) {
  std::vector<Option> out;
  for (const char* text : texts) out.push_back(Option{std::to_string(out.size()), std::string(text)});
  return out;
}

void add_choice_rows(std::vector<SelfCheckRow>& rows) {
  const auto add = [&rows](const char* state, const char* question, std::vector<Option> options, std::size_t expected) {
    rows.push_back({state, QuestionType::kChoice, question, std::move(options), expected});
  };
  // three options
  add("The soup arrived cold, the waiter ignored us and we will never come back.", "What is the tone of this review?",
      named({"negative", "neutral", "positive"}), 0);
  add("Der Zug nach Hamburg hat heute leider zwanzig Minuten Verspätung.", "Which language is this text written in?",
      named({"Spanish", "German", "Polish"}), 1);
  add("Nobody can log in since 9 am and every order on the site fails.", "How urgent is this report?",
      described({{"later", "A small wish that can wait for weeks"},
                 {"soon", "A minor fault to fix within a few days"},
                 {"now", "A full outage to fix at once"}}),
      2);
}

void add_larger_choice_rows(std::vector<SelfCheckRow>& rows) {
  const auto add = [&rows](const char* state, const char* question, std::vector<Option> options, std::size_t expected) {
    rows.push_back({state, QuestionType::kChoice, question, std::move(options), expected});
  };
  // four options
  add("I moved to a new flat last week. Please send my letters there from now on.", "What does the customer want?",
      described({{"change_address", "Change the postal address on the account"},
                 {"close_account", "Close the account for good"},
                 {"raise_limit", "Raise the credit limit of the card"},
                 {"report_theft", "Report a stolen card"}}),
      0);
  add("My invoice for March shows the same subscription charged twice.", "Which team should handle this message?",
      described({{"shipping", "Parcels, couriers and delivery dates"},
                 {"billing", "Invoices, charges and refunds"},
                 {"hiring", "Job applications and interviews"},
                 {"press", "Questions from journalists"}}),
      1);
  add("The striker scored twice in the second half and the home team won the cup.", "What is this text about?",
      named({"politics", "cooking", "sports", "astronomy"}), 2);
  add("Congratulations! You won a free cruise. Send your bank password within one hour to claim it.",
      "What kind of message is this?",
      described({{"invitation", "An invitation from a friend"},
                 {"receipt", "A receipt for a purchase"},
                 {"newsletter", "A newsletter from a club"},
                 {"scam", "A scam that tries to steal money"}}),
      3);
  add("Ann handed the report to Boris on Friday, and he passed it on to Clara the same day.",
      "Who had the report first?", named({"Ann", "Boris", "Clara", "Friday"}), 0);
  add("Will it rain in Lisbon tomorrow afternoon?", "Which tool should the assistant use?",
      described({{"calculator", "Calculate the result of a sum"},
                 {"weather_forecast", "Look up the weather forecast for a city"},
                 {"music_player", "Play a song or an album"},
                 {"translator", "Translate a sentence into another language"}}),
      1);
  add("The bridge opened in 1932 after six years of work and cost four million pounds.",
      "In which year did the bridge open?", named({"1926", "1938", "1932", "1904"}), 2);
  add("It has four strings, is held under the chin and is played with a bow.", "Which instrument is described?",
      named({"trumpet", "piano", "drum", "violin"}), 3);
  add("The kettle I ordered came with a broken lid. I would like my money back, please.",
      "What is the customer asking for?",
      described({{"refund", "A refund for a damaged product"},
                 {"invoice", "A copy of the invoice"},
                 {"opening_hours", "The opening hours of the shop"},
                 {"job", "A job in the shop"}}),
      0);
  add("You are a worthless idiot and everybody here hates you.", "How should a moderator label this comment?",
      described({{"praise", "Friendly praise for another person"},
                 {"insult", "An insult aimed at another person"},
                 {"advert", "An advert for a product"},
                 {"question", "A polite question"}}),
      1);
  add("Wake me at half past six tomorrow morning.", "What should the phone do?",
      named({"call_a_contact", "take_a_photo", "set_an_alarm", "send_an_email"}), 2);
  add("The patient twisted her ankle on the stairs; it is swollen and she cannot stand on it.",
      "Which part of the body is injured?", named({"the shoulder", "the ear", "the stomach", "the ankle"}), 3);
}

void add_largest_choice_rows(std::vector<SelfCheckRow>& rows) {
  const auto add = [&rows](const char* state, const char* question, std::vector<Option> options, std::size_t expected) {
    rows.push_back({state, QuestionType::kChoice, question, std::move(options), expected});
  };
  // five options
  add("The vaccine trial showed that patients recovered from the infection in half the time.",
      "Which section of the newspaper does this belong to?",
      described({{"health", "Health and medicine"},
                 {"travel", "Travel and holidays"},
                 {"finance", "Banks and the stock market"},
                 {"fashion", "Clothes and fashion"},
                 {"motoring", "Cars and driving"}}),
      0);
  add("My daughter finally got into the university she dreamed of. I could dance all night!",
      "What does the writer feel?", named({"anger", "joy", "fear", "disgust", "boredom"}), 1);
  add("Whisk the eggs with the sugar, fold in the flour and bake for thirty minutes.", "What kind of text is this?",
      described({{"contract", "A legal contract"},
                 {"weather", "A weather report"},
                 {"recipe", "A recipe for a cake"},
                 {"obituary", "An obituary"},
                 {"timetable", "A bus timetable"}}),
      2);
  add("She feeds the cows at dawn, drives the tractor and sells milk and wheat.", "What is her job?",
      named({"dentist", "pilot", "lawyer", "farmer", "actress"}), 3);
  add("The garment keeps the hands warm and has a separate part for each finger.", "Which garment is described?",
      named({"hat", "belt", "scarf", "shoes", "gloves"}), 4);
}

void add_yes_no_rows(std::vector<SelfCheckRow>& rows) {
  const auto add = [&rows](const char* state, const char* question, std::vector<Option> options, std::size_t expected) {
    rows.push_back({state, QuestionType::kYesNo, question, std::move(options), expected});
  };
  // without criteria
  add("The museum is closed on Mondays. Today is Monday.", "Is the museum open today?", named({"no", "yes"}), 0);
  add("Tom is seven years old. The ride is only for children over ten.", "May Tom go on the ride?",
      named({"no", "yes"}), 0);
  add("I love these headphones. The sound is superb and they are worth every penny.",
      "Is the customer happy with the product?", named({"no", "yes"}), 1);
  add("The parcel was delivered to the front desk this morning and signed for by Mr Lee.", "Has the parcel arrived?",
      named({"no", "yes"}), 1);
  add("Add two cups of rice and stir until the water is gone.", "Does the text mention a train?", named({"yes", "no"}),
      1);
  add("The lamp is out of stock and will not be made again.", "Can customers still order the lamp?",
      named({"yes", "no"}), 1);
  add("Maria speaks Italian, French and Greek.", "Does Maria speak more than one language?", named({"yes", "no"}), 0);
  add("Please stop sending me these emails and take me off your list.", "Does the writer want to unsubscribe?",
      named({"yes", "no"}), 0);
  // with criteria
  add("Thanks for the quick answer, everything works again. Have a lovely weekend!", "Is this message a complaint?",
      described(
          {{"no", "The writer is satisfied and thanks the staff"}, {"yes", "The writer complains about a problem"}}),
      0);
  add("The hall has 80 seats and 120 people have said that they will come.", "Is the hall large enough?",
      described({{"no", "There are more people than seats"}, {"yes", "There are enough seats for everybody"}}), 0);
  add("I was charged 90 euros for a ticket that costs 45. Please correct this.",
      "Does the message concern a wrong payment?",
      described(
          {{"no", "The message is about something other than money"}, {"yes", "The customer paid too much money"}}),
      1);
  add("There is smoke in the corridor and flames are coming out of the kitchen.", "Is this an emergency?",
      described({{"no", "Nothing dangerous is happening"}, {"yes", "A fire puts people in danger"}}), 1);
  add("We met for an hour, talked about the budget and went home without any decision.", "Was the budget approved?",
      described({{"yes", "The budget was approved at the meeting"}, {"no", "No decision was made about the budget"}}),
      1);
  add("The shirt is brand new, still in its bag, and the label is attached.", "Has the shirt been worn?",
      described({{"yes", "The shirt is used and worn"}, {"no", "The shirt is new and unworn"}}), 1);
  add("My flight was cancelled last night, so I had to sleep at the airport.", "Did the flight fail to depart?",
      described({{"yes", "The flight was cancelled"}, {"no", "The flight left as planned"}}), 0);
  add("The dog barked, wagged its tail and fetched the stick from the river.", "Is the text about an animal?",
      described({{"yes", "The text is about an animal"}, {"no", "The text is about a machine"}}), 0);
}

void add_scale_rows(std::vector<SelfCheckRow>& rows) {
  const auto add = [&rows](const char* state, const char* question, std::vector<Option> options, std::size_t expected) {
    rows.push_back({state, QuestionType::kScale, question, std::move(options), expected});
  };
  // three levels
  add("The button on the help page is a slightly different shade of blue.", "How serious is the fault?",
      levels({"Only the look is affected", "A feature does not work", "All data is lost"}), 0);
  add("The water is neither hot nor cold, just pleasantly lukewarm.", "How warm is the water?",
      levels({"Ice cold", "Lukewarm", "Boiling hot"}), 1);
  add("Every single seat was taken and people stood in the aisles.", "How full was the theatre?",
      levels({"The theatre was empty", "The theatre was half full", "The theatre was completely full"}), 2);
  // four levels
  add("Open the box, press the green button. That is all there is to do.", "How difficult is the task?",
      levels({"Very easy", "Rather easy", "Rather difficult", "Very difficult"}), 0);
  add("My knee aches a little after long walks but it does not keep me from anything.", "How strong is the pain?",
      levels({"No pain at all", "Mild pain", "Severe pain", "Unbearable pain"}), 1);
  add("Three of the four tasks are done; only the last one is still open.", "How far along is the project?",
      levels({"Not started", "About one quarter done", "About three quarters done", "Completely finished"}), 2);
  add("This is the most terrifying film ever made. I could not sleep for a week.", "How frightening is the film?",
      levels({"Not frightening", "A little frightening", "Quite frightening", "Extremely frightening"}), 3);
  // five levels
  add("Disgusting food, rude staff and a cockroach in my salad. The worst evening of my life.",
      "How satisfied is the guest?",
      levels({"Very dissatisfied", "Somewhat dissatisfied", "Neutral", "Somewhat satisfied", "Very satisfied"}), 0);
  add("He visits the gym on the first day of the year and perhaps once more in summer.",
      "How often does he visit the gym?",
      levels({"Never", "Once or twice a year", "Every month", "Every week", "Every day"}), 1);
  add("The child is eight and goes to the third class of the village school.", "Which stage of life is described?",
      levels({"A newborn baby", "A toddler", "A schoolchild", "A grown adult", "An old pensioner"}), 2);
  add("A strong gale tore branches off the trees, but no building was damaged.", "How strong was the wind?",
      levels({"No wind at all", "A light breeze", "A moderate wind", "A strong gale",
              "A hurricane that destroys buildings"}),
      3);
  add("The agent answered within seconds, solved everything and even called back to check. Perfect!",
      "How good was the support?", levels({"Terrible", "Poor", "Average", "Good", "Excellent"}), 4);
}

std::vector<SelfCheckRow> make_rows() {
  std::vector<SelfCheckRow> rows;
  rows.reserve(48);
  add_choice_rows(rows);
  add_larger_choice_rows(rows);
  add_largest_choice_rows(rows);
  add_yes_no_rows(rows);
  add_scale_rows(rows);
  return rows;
}

}  // namespace

std::span<const SelfCheckRow> self_check_rows() {
  static const std::vector<SelfCheckRow> kRows = make_rows();
  return kRows;
}

}  // namespace assay::decision

namespace assay {

std::vector<BuiltInRow> built_in_rows() {
  std::vector<BuiltInRow> rows;
  for (const decision::SelfCheckRow& row : decision::self_check_rows()) {
    BuiltInRow& out = rows.emplace_back();
    out.request.state = Value(row.state);
    out.request.questions = {{.id = "check", .text = row.question, .type = row.type, .options = row.options}};
    out.expected = row.expected;
  }
  return rows;
}

}  // namespace assay
